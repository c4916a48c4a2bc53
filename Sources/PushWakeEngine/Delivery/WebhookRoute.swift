// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The webhook's lane, and whom it serves.
struct WebhookRoute {
    let lane: WebhookLane
    /// One bit for each of PushWake's own providers that it takes over.
    private let takenOver: UInt64
    private let providers: WebhookProviders

    init(_ lane: WebhookLane, _ providers: WebhookProviders) {
        self.lane = lane
        self.providers = providers
        takenOver = providers.known.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
    }

    /// Whether a push to this binding goes this way.
    func takes(_ binding: Binding) -> Bool {
        if binding.provider == .webhook { return providers.serves(binding) }
        return takenOver >> UInt64(binding.provider.rawValue) & 1 == 1
    }
}
