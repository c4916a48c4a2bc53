// SPDX-License-Identifier: MIT

/// A name that was a setting once. Whoever still writes it hears in one line what to write instead.
public struct RemovedSetting: Equatable, Sendable {
    /// Static, so that a C caller may keep the pointer.
    public let name: StaticString
    /// What to write, or why nothing has to be written.
    public let remedy: StaticString

    private init(_ name: StaticString, _ remedy: StaticString) {
        self.name = name
        self.remedy = remedy
    }

    public static func == (a: Self, b: Self) -> Bool { a.name.description == b.name.description }

    /// The one with this name; nil when there was none.
    static func named(_ name: String) -> Self? { all.first { $0.name.description == name } }

    /// All of them, by the headings that they stood under.
    public static let all: [Self] = [
        // Engine
        Self(
            "core_dumps",
            "no longer exists; for 0, set LimitCORE=0 in the systemd unit of the engine, or of the PBX that starts it"),
        // Store
        Self("store_user", "no longer exists; write the user into store, such as redis://USER@host"),
        Self("store_timeout", "no longer exists; it is 80 % of engine_timeout: set that"),
        Self("store_backlog", "no longer exists; leave it out: 10,000 REGISTERs are kept"),
        Self("node", "no longer exists; set node_uri, or leave both out: host and engine_socket name the node then"),
        // REGISTER
        Self(
            "refresh_all",
            "no longer exists; leave it out: with refresh_before, a phone that has not refreshed by itself is asked 120 s before the end"
        ),
        Self("purr_rotate", "no longer exists; leave it out: a phone gets a new sip.pnspurr each day"),
        Self("purr_keep", "no longer exists; leave it out: a pn-purr stays valid for 7 days after its last use"),
        // Calls
        Self("no_answer_waits", "no longer exists; set decline_waits, which counts for both"),
        Self("cancel_push", "no longer exists; for 0, write cancel_when = never"),
        Self("wakes_kept", "no longer exists; leave it out: 100,000 requests are kept"),
        // Limits and load
        Self("load_missed", "no longer exists; set load_chat, which counts for missed calls too"),
        Self("load_refresh", "no longer exists; set load_chat, which counts for refreshes too"),
        // Apple
        Self(
            "apns_mutable_content",
            "no longer exists; for other alerts than messages, write mutable-content into a template of your own (template_dir)"
        ),
        Self("apns_connections", "no longer exists; leave it out: one connection takes a thousand pushes at a time"),
        // Google
        Self(
            "fcm_android_v2", "no longer exists; for 1, write android_v2 into a template of your own (template_dir)"),
        Self(
            "fcm_bandwidth_constrained",
            "no longer exists; for 1, write bandwidth_constrained_ok into a template of your own (template_dir)"),
        Self("fcm_connections", "no longer exists; leave it out: up to 4 are opened, another when all are full"),
        // Web Push
        Self(
            "webpush_allow_local",
            "no longer exists; name the host in webpush_hosts: one that is written out may have a local address"),
        // Webhook
        Self(
            "webhook_header_file",
            "no longer exists; name the file in webhook_headers, as @/path, with | between it and other fields"),
        Self("webhook_body_file", "no longer exists; name the file in webhook_body, as @/path"),
        Self("webhook_connections", "no longer exists; leave it out: up to 4 are opened, another when all are full"),
        Self("webhook_allow_local", "no longer exists; leave it out: webhook_url may have a local address"),
        // To providers
        Self("connect_timeout", "no longer exists; it is half of request_timeout: set that"),
        // Gateway
        Self(
            "upper_path",
            "no longer exists; leave it out, and move the file to the directory of store_path, where it is called upstream.db"
        ),
        // HTTP
        Self("http_connections", "no longer exists; leave it out: 200 at a time are served"),
    ]
}
