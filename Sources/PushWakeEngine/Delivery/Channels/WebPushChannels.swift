// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// One channel per Web Push service. Phones name the services, so the number of those that are connected to is bounded; others
/// wait for a place, in turns by AoR.
///
/// A place becomes free where nothing is under way, or where no answer has come for a second. A service that has answered
/// gives way to none that has not while those have half of the places, so that nobody takes a good one's place with names.
final class WebPushChannels {
    /// Services with a place at a time.
    static let mostServices = 64
    /// Services that wait for one.
    private static let mostWaiting = 1024
    /// Milliseconds without an answer after which a service may lose its place.
    static let answerTimeout: Int64 = 1000
    /// Milliseconds between two looks for places.
    private static let pause: Int64 = 50
    private static let full = Verdict(.overloaded, reason: "TooManyPushServices")

    private let sender: WebPushSender
    private let loop: Loop
    private let makeChannel: (HTTPOrigin, WebPushSender) -> WebPushChannel
    private var channels: [HTTPOrigin: WebPushChannel] = [:]
    private var waiting: [HTTPOrigin: WebPushChannel] = [:]
    private var line = TurnLine<HTTPOrigin>()
    private var lastSerial: UInt64 = 0

    /// The VAPID key's point in base64url, as phones need it to subscribe.
    var publicKey: String { Base64URL.encode(sender.publicKey) }

    /// Those of all services that phones have named.
    var all: [any ProviderChannel] { Array(channels.values) + Array(waiting.values) }

    /// Services that have a place now.
    var count: Int { channels.count }

    init(_ sender: WebPushSender, loop: Loop, makeChannel: @escaping (HTTPOrigin, WebPushSender) -> WebPushChannel) {
        self.loop = loop
        self.sender = sender
        self.makeChannel = makeChannel
    }

    /// The channel for a subscription; a refusal when the subscription may not be used.
    func choice(for binding: Binding) -> ChannelChoice {
        do throws(PushFailure) {
            let origin = try WebPushRequest.target(of: binding.token, sender.settings).origin
            return channel(of: origin, for: binding.aor).map { .channel($0) } ?? .noChannel(Self.full)
        } catch {
            return .noChannel(error.verdict)
        }
    }

    /// Other channels take their place. Those that wait for one are given theirs still.
    func retire() { for channel in all { channel.retire() } }

    /// Nil while too many services wait.
    private func channel(of origin: HTTPOrigin, for aor: String) -> WebPushChannel? {
        if let channel = channels[origin] ?? waiting[origin] { return channel }
        let hasPlace = waiting.isEmpty && (channels.count < Self.mostServices || makeRoom())
        guard hasPlace || waiting.count < Self.mostWaiting else { return nil }
        let channel = makeChannel(origin, sender)
        if hasPlace {
            channels[origin] = channel
        } else {
            wait(channel, origin, aor)
        }
        return channel
    }

    private func wait(_ channel: WebPushChannel, _ origin: HTTPOrigin, _ aor: String) {
        channel.waitForPlace()
        if waiting.isEmpty { lookForPlaces() }
        waiting[origin] = channel
        lastSerial += 1
        let owner = Fingerprint.of(aor)
        line.insert(origin, at: TurnLine.Place(.call, owner: owner, cause: owner ^ 1, serial: lastSerial))
    }

    private func lookForPlaces() {
        loop.schedule(after: Self.pause) { [self] in
            // All their pushes have ended.
            for origin in line.removeAll(where: { waiting[$0]?.isIdle ?? true }) { waiting[origin] = nil }
            while !line.isEmpty, channels.count < Self.mostServices || makeRoom(), let next = line.popFirst() {
                line.noteTurn(next.place)
                guard let channel = waiting.removeValue(forKey: next.element) else { continue }
                channels[next.element] = channel
                channel.takePlace()
            }
            if !waiting.isEmpty { lookForPlaces() }
        }
    }

    private func makeRoom() -> Bool {
        let untried = channels.filter { !$0.value.hasAnswered }
        let candidates = untried.count >= Self.mostServices / 2 ? untried : channels
        if let oldest = candidates.filter(\.value.isIdle).min(by: { $0.value.usedAt < $1.value.usedAt }) {
            oldest.value.close()
            channels[oldest.key] = nil
            return true
        }
        guard let mute = candidates.min(by: { $0.value.unansweredSince < $1.value.unansweredSince }),
            loop.now - mute.value.unansweredSince >= Self.answerTimeout
        else { return false }
        channels[mute.key] = nil
        mute.value.end(Self.full)
        return true
    }
}
