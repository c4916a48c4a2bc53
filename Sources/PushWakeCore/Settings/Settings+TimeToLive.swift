// SPDX-License-Identifier: MIT

extension Settings {
    /// Seconds for which the news that a call is over is worth anything: it stops what rings.
    private static let callOver: UInt32 = 30

    /// How long a provider may keep the push for an event, seconds.
    public func timeToLive(of event: PushEvent, _ occasion: PushOccasion = .usual) -> UInt32 {
        switch event {
        case .call: UInt32(clamping: integer(.wakeTimeout))
        case .cancel, .answeredElsewhere: Self.callOver
        // The request is answered by then, and nobody sends it again.
        case .refer: whileHeld
        case .refresh where occasion == .requestWaiting: whileHeld
        case .chat, .groupChat, .custom, .missed, .refresh, .voicemail: UInt32(clamping: integer(.messageTimeToLive))
        }
    }

    private var whileHeld: UInt32 { UInt32(clamping: min(integer(.wakeTimeout), RequestPolicy.longestHold)) }
}
