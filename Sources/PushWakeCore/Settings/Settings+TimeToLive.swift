// SPDX-License-Identifier: MIT

extension Settings {
    /// Seconds for which the news that a call is over is worth anything: it stops what rings.
    private static let callOver: UInt32 = 30

    /// How long a provider may keep the push for an event, seconds.
    public func timeToLive(of event: PushEvent) -> UInt32 {
        switch event {
        case .call: UInt32(clamping: integer(.wakeTimeout))
        case .cancel, .answeredElsewhere: Self.callOver
        case .chat, .groupChat, .custom, .missed, .refresh: UInt32(clamping: integer(.messageTimeToLive))
        }
    }
}
