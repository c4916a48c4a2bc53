// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// One lane per Web Push service. Phones name the services, so their number is bounded, and those that do not answer
/// make room for others.
final class WebPushLanes {
    /// Services with a lane at a time; past it the one that was idle longest makes room, or the one that has not answered
    /// for longest.
    static let mostServices = 64
    /// Milliseconds that a service has for an answer before it may have to make room.
    static let patience: Int64 = 1000

    private let sender: WebPushSender
    private let loop: Loop
    private let makeLane: (HTTPOrigin, WebPushSender) -> WebPushLane
    private var lanes: [HTTPOrigin: WebPushLane] = [:]

    /// The VAPID key's point in base64url, as phones need it to subscribe.
    var publicKey: String { Base64URL.encode(sender.publicKey) }

    /// Services that have a lane now.
    var count: Int { lanes.count }

    init(_ sender: WebPushSender, loop: Loop, makeLane: @escaping (HTTPOrigin, WebPushSender) -> WebPushLane) {
        self.loop = loop
        self.sender = sender
        self.makeLane = makeLane
    }

    /// The lane for a subscription; one that refuses every push when the subscription may not be used.
    func lane(for binding: Binding) -> any ProviderLane {
        do throws(PushRefusal) {
            return lane(of: try WebPushRequest.target(of: binding.token, sender.settings).origin)
        } catch {
            return RefusingLane(label: "webpush refused", verdict: error.verdict, loop: loop)
        }
    }

    /// Other lanes take their place.
    func retire() { for lane in lanes.values { lane.retire() } }

    private func lane(of origin: HTTPOrigin) -> any ProviderLane {
        if let lane = lanes[origin] { return lane }
        guard lanes.count < Self.mostServices || makeRoom() else {
            return RefusingLane(
                label: "webpush full", verdict: Self.full, loop: loop)
        }
        let lane = makeLane(origin, sender)
        lanes[origin] = lane
        return lane
    }

    private func makeRoom() -> Bool {
        let idle = lanes.filter(\.value.isIdle)
        if let oldest = idle.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            oldest.value.close()
            lanes[oldest.key] = nil
            return true
        }
        guard let mute = lanes.min(by: { $0.value.unansweredSince < $1.value.unansweredSince }),
            loop.now - mute.value.unansweredSince >= Self.patience
        else { return false }
        lanes[mute.key] = nil
        mute.value.end(Self.full)
        return true
    }

    private static let full = Verdict(.overloaded, reason: "TooManyPushServices")
}
