// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// The listener for Prometheus, for apps that report tokens, and for programs of the operator; where calls are captured.
    static func httpRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .httpListen:
            .init(
                "http_listen", .text, "",
                "Address and port for HTTP, such as 127.0.0.1:8088 or [::]:8443; a port alone listens on 127.0.0.1. Empty: off. /healthz is open to everybody, everything else to those of http_token_file and http_users."
            )
        case .httpCert:
            .init(
                "http_cert", .path, "",
                "Certificate for http_listen, PEM with its chain; its key may be in the same file. With it http_listen accepts only TLS. Empty: no TLS; use this on loopback or behind a proxy with TLS."
            )
        case .httpKey:
            .init("http_key", .path, "", "Private key of http_cert, where it is in a file of its own.")
        case .httpTokenFile:
            .init(
                "http_token_file", .path, "",
                "File whose first line is the operator's bearer token, 16 bytes at least. A client that sends it (Authorization: Bearer) may do everything. Empty: none."
            )
        case .httpUsers:
            .init(
                "http_users", .path, "",
                "File with a line of user:realm:HA1 for each user of Digest or Basic, as htdigest writes it; SHA-256 is accepted as well, and offered if all users have it. A user may only report and remove the tokens of the account with its own name. Empty: nobody."
            )
        case .httpOperators:
            .init(
                "http_operators", .text, "", "Users of http_users who may do everything, comma separated.")
        case .httpRealm:
            .init(
                "http_realm", .text, "pushwake",
                "Realm of http_users that Digest is offered for. To use the HA1 of SIP accounts, set it to their realm."
            )
        case .httpRate:
            .init(
                "http_rate", .integer(1...100_000), "50",
                "HTTP requests per second that one address may send; more are answered with 429.")
        case .httpConnections:
            .init(
                "http_connections", .integer(1...10_000), "200",
                "HTTP connections at a time. If there are more, the one that has been idle longest is closed.")
        case .hepCapture:
            .init(
                "hep_capture", .capture, "",
                "HEP server (Homer, heplify-server): host:port for UDP, tcp:host:port, or tls:host:port, whose certificate is verified by ca_file or the system's authorities. It gets each step of each call as a log line under the Call-ID (docs/homer.md). Empty: none."
            )
        case .hepID:
            .init("hep_id", .integer(0...4_294_967_295), "2599", "Number of this capture agent in HEP.")
        default: nil
        }
    }
}
