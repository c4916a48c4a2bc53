// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when something about it never made sense; `problems` says what.
    func openWebhook(replacing old: WebhookRoute?, _ problems: inout [String]) -> WebhookRoute? {
        do throws(SettingError) {
            let route = try WebhookSetup.load(settings).map { WebhookRoute(webhook($0), $0.providers) }
            old?.lane.retire()
            return route
        } catch {
            let ending = old == nil ? "" : "; what was read before is still used"
            problems.append("\(error.setting): \(error.message)\(ending)")
            return old
        }
    }

    /// What the name in the URL resolves to is judged too: a public name may lead inside.
    func webhook(_ setup: WebhookSetup) -> WebhookLane {
        let label = "webhook \(setup.request.origin.authority)"
        let pool = pool(setup.request.origin, label, connections: settings.integer(.webhookConnections)) {
            $0.refusesLocalAddresses = !setup.allowsLocal
        }
        return WebhookLane(setup, pool: pool, label: label, maxFail: Int(settings.integer(.maxFail)), loop: loop)
    }
}
