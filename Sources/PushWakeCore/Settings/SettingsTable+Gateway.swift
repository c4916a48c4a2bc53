// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Phones registered at SIP servers behind this one.
    static func gatewayRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .upperServers:
            .init(
                "upper_servers", .text, "",
                "SIP servers that phones may be registered at, comma separated: pbx.example.com, 192.0.2.1:5080, *.example.com for all below it. A phone that names another server gets 403. Empty: only where the script has set $du."
            )
        case .upperContact:
            .init(
                "upper_contact", .text, "",
                "Host and port under which SIP servers reach the gateway. Empty: the UDP address that the phone registered at, or the first one that the PBX listens on."
            )
        case .upperPath:
            .init(
                "upper_path", .path, "/var/lib/pushwake/upstream.db",
                "File that keeps upstream registrations over a restart. Not used with store=memory.")
        case .upperPathHeader:
            .init(
                "upper_path_header", .nodeURI, "",
                "SIP URI of this gateway that registrations carry as Path (RFC 3327), such as sip:192.0.2.5:5060, for servers that support it and gateways that share upper_contact: the server sends its calls along this Path. Empty: no Path."
            )
        case .upperExpire:
            .init(
                "upper_expire", .integer(-1...31_536_000), "3600", unit: "s",
                "How long an upstream registration the gateway asks for. -1: as long as the phone asks for.")
        case .rebuild:
            .init(
                "rebuild", .integer(1...86_400), "3600", unit: "s",
                "How often to check whether each upstream registration is still wanted and still there.")
        case .keepUpperReg:
            .init(
                "keep_upper_reg", .integer(0...2), "1",
                "0: upstream registrations end with those of the phones. 1: they are kept while a phone of the user is registered or can be woken. 2: the gateway never ends one."
            )
        case .preferMD5Auth:
            .init(
                "prefer_md5_auth", .flag, "0",
                "1: if a phone sends X-PIID, the gateway answers the server's challenge with it. 0: the phone answers it."
            )
        case .regRefresh:
            .init(
                "reg_refresh", .integer(-1...2), "-1",
                "Whether phones are woken to register before an upstream registration ends that the gateway cannot renew itself. -1, 1: yes. 0: no. 2: yes, and the push binding is removed if the phone does not register."
            )
        case .removeOnRegfail:
            .init(
                "remove_on_regfail", .integer(0...2), "1",
                "What happens to the push bindings of a user whom the SIP server refuses. 0: they are kept. 1: they are removed when the upstream registration has ended and the phone did not register again meanwhile. 2: also when the server gave no answer until then."
            )
        case .secretKeyFile:
            .init(
                "secret_key_file", .path, "",
                "File with the key that X-PIID is encrypted with (AES-256-GCM): 64 hex digits, as `openssl rand -hex 32` writes them. Further lines are earlier keys, for reading. With it the engine leaves no core file. Empty: X-PIID is not kept, and phones are woken to register."
            )
        default: nil
        }
    }
}
