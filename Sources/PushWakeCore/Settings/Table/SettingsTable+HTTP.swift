// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// The page for operators, metrics, and the interface for apps and programs.
    static let http: [SettingDescription] = [
        .init(
            .httpListen, "http_listen", .text, "", example: "127.0.0.1:8088", takesRestart: true,
            "Address and port for HTTP, such as 127.0.0.1:8088 or [::]:8443; a port alone listens on 127.0.0.1. Empty: off. /healthz is open to everybody, everything else to those of http_token_file and http_users."
        ),
        .init(
            .httpCert, "http_cert", .path, "", example: "/etc/pushwake/http.pem",
            "Certificate for http_listen, PEM with its chain; its key may be in the same file. With it http_listen accepts only TLS. Empty: no TLS; use this on loopback or behind a proxy with TLS."
        ),
        .init(
            .httpKey, "http_key", .path, "", example: "/etc/pushwake/http.key",
            "Private key of http_cert, where it is in a file of its own."
        ),
        .init(
            .httpTokenFile, "http_token_file", .path, "", example: "/etc/pushwake/http.token",
            "File whose first line is the operator's bearer token, 16 bytes at least. A client that sends it (Authorization: Bearer) may do everything. Empty: none."
        ),
        .init(
            .httpUsers, "http_users", .path, "", example: "/etc/pushwake/http.users",
            "File with a line of user:realm:HA1 for each user of Digest or Basic, as htdigest writes it; SHA-256 is accepted as well, and offered if all users have it. A user may only report and remove the tokens of the account with its own name. Empty: nobody."
        ),
        .init(
            .httpOperators, "http_operators", .text, "", example: "alice, bob",
            "Users of http_users who may do everything, comma separated."
        ),
        .init(
            .httpRealm, "http_realm", .text, "pushwake", example: "example.com",
            "Realm of http_users that Digest is offered for. To use the HA1 of SIP accounts, set it to their realm."
        ),
        .init(
            .httpRate, "http_rate", .integer(1...100_000), "50", example: "200",
            "HTTP requests per second that one address may send; more are answered with 429."
        ),
    ]
}
