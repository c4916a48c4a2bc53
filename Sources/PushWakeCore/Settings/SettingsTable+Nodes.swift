// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// A store that several nodes share, and what they know of each other.
    static func nodeRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .storeUser:
            .init("store_user", .text, "", "User at the server of store. Empty: its default user.")
        case .storePasswordFile:
            .init(
                "store_password_file", .path, "",
                "File whose first line is the password for the server of store. It is read for each connection. Empty: none."
            )
        case .storeTimeout:
            .init(
                "store_timeout", .integer(5...10_000), "80", unit: "ms",
                "How long to wait for the server of store at most; must be less than engine_timeout. Then a call is held until the server answers, up to 5 s; anything else goes on without push, and a REGISTER is stored later."
            )
        case .storeBacklog:
            .init(
                "store_backlog", .integer(0...1_000_000), "10000",
                "How many REGISTERs are kept in memory, about 2 kB each, while the store takes no changes: its server cannot be reached, or a disk is full. They are stored when it takes changes again."
            )
        case .storePrefix:
            .init(
                "store_prefix", .text, "pw",
                "Prefix of all keys at the server of store. Nodes that share bindings must have the same one.")
        case .node:
            .init(
                "node", .text, "",
                "Name of this node among those that share a store; no two may have the same. Empty: node_uri, or else the host's name and engine_socket."
            )
        case .nodeURI:
            .init(
                "node_uri", .nodeURI, "",
                "Where other nodes send calls for phones that are connected to this one, such as sip:10.0.0.2:5060. Empty: they send to the phone's own address, which works for phones with UDP and without NAT."
            )
        default: nil
        }
    }
}
