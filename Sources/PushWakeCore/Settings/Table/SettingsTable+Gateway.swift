// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Phones that are registered at SIP servers behind this one.
    static let gateway: [SettingDescription] = [
        .init(
            .upperServers, "upper_servers", .text, "", example: "pbx.example.com, *.example.net", takesRestart: true,
            "SIP servers that phones may be registered at, comma separated: pbx.example.com, 192.0.2.1:5080, *.example.com for all below it. A phone that names another server gets 403. Empty: only where the script has set $du; without secret_key_file such registrations end with the engine."
        ),
        .init(
            .upperContact, "upper_contact", .text, "", example: "192.0.2.5:5060",
            "Host and port under which SIP servers reach the gateway. Empty: the UDP address that the phone registered at, or the first one that the PBX listens on."
        ),
        .init(
            .upperPathHeader, "upper_path_header", .nodeURI, "", example: "sip:192.0.2.5:5060", takesRestart: true,
            "SIP URI of this gateway that registrations carry as Path (RFC 3327), such as sip:192.0.2.5:5060, for servers that support it and gateways that share upper_contact: the server sends its calls along this Path. Empty: no Path."
        ),
        .init(
            .upperExpire, "upper_expire", .integer(-1...31_536_000), "3600",
            unit: "s", example: "1800", takesRestart: true,
            "How long an upstream registration the gateway asks for. -1: as long as the phone asks for."
        ),
        .init(
            .rebuild, "rebuild", .integer(1...86_400), "3600", unit: "s", example: "600", takesRestart: true,
            "How often to check whether each upstream registration is still wanted and still there."
        ),
        .init(
            .keepUpperReg, "keep_upper_reg", .integer(0...2), "1", example: "2", takesRestart: true,
            "0: upstream registrations end with those of the phones. 1: they are kept while a phone of the user is registered or can be woken. 2: the gateway never ends one."
        ),
        .init(
            .preferMD5Auth, "prefer_md5_auth", .flag, "0", takesRestart: true,
            "1: if a phone sends X-PIID, the gateway answers the server's challenge with it. 0: the phone answers it."
        ),
        .init(
            .regRefresh, "reg_refresh", .integer(-1...2), "-1", example: "2", takesRestart: true,
            "Whether phones are woken to register before an upstream registration ends that the gateway cannot renew itself. -1, 1: yes. 0: no. 2: yes, and the push binding is removed if the phone does not register."
        ),
        .init(
            .removeOnRegfail, "remove_on_regfail", .integer(0...2), "1", example: "0", takesRestart: true,
            "What happens to the push bindings of a user whom the SIP server refuses. 0: they are kept. 1: they are removed when the upstream registration has ended and the phone did not register again meanwhile. 2: also when the server gave no answer until then."
        ),
        .init(
            .removeOnReject, "remove_on_reject", .flag, "1", takesRestart: true,
            "1: remove the push bindings of a user at once when the SIP server has refused (403, 404, 410, 6xx) the gateway's refresh and then the phone that was woken for it. 0: only when the upstream registration ends."
        ),
        .init(
            .secretKeyFile, "secret_key_file", .path, "", example: "/etc/pushwake/secret.key", takesRestart: true,
            "File with the key that X-PIID is encrypted with (AES-256-GCM): 64 hex digits, as `openssl rand -hex 32` writes them. Further lines are earlier keys, for reading. With it the engine leaves no core file. Empty: X-PIID is not kept, and phones are woken to register."
        ),
    ]
}
