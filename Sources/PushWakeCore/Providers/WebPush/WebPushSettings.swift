// SPDX-License-Identifier: MIT

/// What an operator decides about Web Push.
public struct WebPushSettings: Equatable, Sendable {
    /// Hosts that subscriptions may lead to: `push.example.com`, `*.example.com` for all below it, `*` for any. One that is
    /// written out is the operator's choice, and may have a private address; of the others phones choose.
    public var hosts: [String]
    public var payload: PayloadSettings

    /// The push services of the browsers.
    public static let browserHosts = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ]

    public init(
        hosts: [String] = WebPushSettings.browserHosts, payload: PayloadSettings = PayloadSettings()
    ) {
        self.hosts = hosts
        self.payload = payload
    }

    /// The operator has named this very host.
    public func names(host: String) -> Bool { hosts.contains(host) }

    /// True when a subscription at this host may be used.
    public func allows(host: String) -> Bool {
        if names(host: host) { return true }
        guard !PrivateAddress.isPrivate(host: host) else { return false }
        return hosts.contains { rule in
            rule == "*"
                || rule.hasPrefix("*.") && host.utf8.count >= rule.utf8.count && host.hasSuffix(rule.dropFirst())
        }
    }
}

extension WebPushSettings {
    /// Why no push may go where a subscription leads, and the remedy.
    func objection(to subscription: String) -> String {
        guard let host = HTTPOrigin.split(subscription)?.0.host else { return "is not an https URL with a host" }
        let shown = host.prefix(80)
        if PrivateAddress.isPrivate(host: host), !names(host: host) {
            return
                "\(shown) is a private address, so no push may go there; write it into webpush_hosts if it is your own push service"
        }
        guard !allows(host: host) else { return "is a URL of more than 2048 bytes, or with bytes that none has" }
        return
            "\(shown) is not in webpush_hosts, so no push may go there; add it if it is a push service that you trust"
    }

    /// Takes the operator's list of hosts.
    public init(_ settings: Settings) {
        self.init(hosts: Self.hosts(settings.text(.webPushHosts)), payload: PayloadSettings(settings))
    }

    /// The hosts of a comma-separated list, in lower case.
    public static func hosts(_ list: String) -> [String] {
        list.split(separator: ",").compactMap { entry in
            let words = entry.split(separator: " ")
            return words.count == 1 ? words[0].lowercased() : nil
        }
    }
}
