// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// How all push services are reached.
    static let toProviders: [SettingDescription] = [
        .init(
            .caFile, "ca_file", .path, "", example: "/etc/pushwake/ca.pem",
            "PEM file with the certificates that providers are verified with: of roots, of intermediates, or of a server itself. Empty: the authorities of the system."
        ),
        .init(
            .requestTimeout, "request_timeout", .integer(100...120_000), "10000", unit: "ms", example: "5000",
            "Longest wait for the answer to one push. Half of it is the longest wait for a connection."
        ),
        .init(
            .httpProxy, "http_proxy", .proxy, "", example: "proxy.example.com:3128",
            "HTTP proxy that all providers are reached through (CONNECT): host:port, or http://user:password@host:port; TLS to the proxy and SOCKS are not supported. Empty: none."
        ),
        .init(
            .httpProxyAuth, "http_proxy_auth", .path, "", example: "/etc/pushwake/proxy.auth",
            "File whose first line is user:password for http_proxy; better than a password in the setting."
        ),
        .init(
            .noProxy, "no_proxy", .text, "", example: ".example.com, 10.0.0.0/8",
            "Hosts that are reached without http_proxy, comma separated: names, .example.com for all below it, addresses, networks such as 10.0.0.0/8."
        ),
    ]
}
