// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Where bindings are kept, and what nodes that share them know of each other.
    static let store: [SettingDescription] = [
        .init(
            .store, "store", .store, "sqlite", example: "redis://pushwake@valkey.example.com", takesRestart: true,
            "Where bindings are stored. sqlite: in store_path. memory: only in memory; they are lost when the engine stops. redis://[user@]host[:port][/database], rediss://host (TLS), unix:///path, redis+sentinel://host,host/name or redis+cluster://host,host: in a Valkey or Redis server, or cluster, that several nodes share (docs/nodes.md)."
        ),
        .init(
            .storePath, "store_path", .path, "/var/lib/pushwake/bindings.db",
            example: "/srv/pushwake/bindings.db", takesRestart: true,
            "File of the SQLite store. A gateway keeps its upstream registrations beside it, in upstream.db."
        ),
        .init(
            .storeSync, "store_sync", .choice(["normal", "full"]), "normal", takesRestart: true,
            "normal: bindings survive a crash of any process. full: they also survive a power cut, at the cost of one fsync for each REGISTER."
        ),
        .init(
            .storePasswordFile, "store_password_file", .path, "",
            example: "/etc/pushwake/store.password", takesRestart: true,
            "File whose first line is the password for the server of store. It is read for each connection. Empty: none."
        ),
        .init(
            .storePrefix, "store_prefix", .text, "pw", example: "site-a", takesRestart: true,
            "Prefix of all keys at the server of store. Nodes that share bindings must have the same one."
        ),
        .init(
            .nodeURI, "node_uri", .nodeURI, "", example: "sip:10.0.0.2:5060", takesRestart: true,
            "Where other nodes send calls for phones that are connected to this one, such as sip:10.0.0.2:5060; it names the node, too. No two nodes may have the same. Empty: they send to the phone's own address, which works for phones with UDP and without NAT, and host and engine_socket name the node."
        ),
    ]
}
