// SPDX-License-Identifier: MIT

/// Who gets a push for an event, with which token, and why others get none: one push per device.
///
/// A device with a PushKit and a remote token has two bindings; a call takes the first, anything else the second.
///
/// | event   | order of choice                                                          |
/// |---------|--------------------------------------------------------------------------|
/// | call    | Apple voip (or kind unknown), FCM, Web Push, Acrobits, webhook, Apple remote |
/// | others  | Apple remote (or kind unknown), FCM, Web Push, Acrobits, webhook; never Apple voip |
public struct Plan: Equatable, Sendable {
    /// One binding that gets a push.
    public struct Chosen: Equatable, Sendable {
        /// Place of the binding in the list given.
        public let index: Int
        /// For Apple; nil for the others.
        public let type: APNsPushType?
        /// Milliseconds that the phone asked for to be left alone first (`pn-timeout`).
        public let delay: Int64

        public init(index: Int, type: APNsPushType?, delay: Int64) {
            self.index = index
            self.type = type
            self.delay = delay
        }
    }

    /// One binding that gets nothing.
    public struct Skipped: Equatable, Sendable {
        public let index: Int
        public let reason: Reason

        public init(index: Int, reason: Reason) {
            self.index = index
            self.reason = reason
        }
    }

    /// Why a binding gets no push.
    public enum Reason: String, Sendable {
        case awake = "the phone is awake"
        case otherToken = "the phone gets it on its other token"
        case voipTokenOnly = "a PushKit token may only get calls"
        case countsAsVoIP = "a token that counts as PushKit's may only get calls (apns_token_kind)"
        case callTokenOnly = "this token only takes calls"
        case notForCalls = "this token takes anything but calls"
        case noSuchPush = "the provider has no push for this event"
        case sameToken = "the same token is pushed already"
        case otherType = "this token takes no push of the type asked for"
        case otherUse = "a token for this service takes neither calls nor messages; send one for voip or remote"
    }

    /// In the order of the bindings.
    public private(set) var pushes: [Chosen] = []
    /// Every binding that is in none of `pushes`.
    public private(set) var skipped: [Skipped] = []
    /// Indices of the bindings of each device, in the order of their first.
    let devices: [[Int]]

    /// Longest wait that a phone may ask for, seconds.
    private static let longestDelay: Int64 = 600

    /// What was asked for by hand, for Apple; nil as a rule.
    private let wanted: APNsPushType?

    /// Chooses among the bindings of one user; `isAwake` says it of each, in the same order. With a `wanted` type
    /// Apple's tokens that may not have it get nothing.
    public init(_ event: PushEvent, _ bindings: [Binding], isAwake: [Bool], wanted: APNsPushType? = nil) {
        self.wanted = wanted
        devices = Self.devices(bindings)
        for device in devices {
            if device.contains(where: { $0 < isAwake.count && isAwake[$0] }) {
                for index in device { skip(index, .awake) }
                continue
            }
            plan(event, bindings, device)
        }
        if pushes.count > 1 { pushes.sort { $0.index < $1.index } }
        if skipped.count > 1 { skipped.sort { $0.index < $1.index } }
    }

    /// Whether a binding may get an event, were it alone.
    func takes(_ event: PushEvent, _ binding: Binding) -> Bool { rank(of: binding, for: event) != nil }

    private mutating func plan(_ event: PushEvent, _ bindings: [Binding], _ device: [Int]) {
        let ranked = device.compactMap { index in
            rank(of: bindings[index], for: event).map { (rank: $0, index: index) }
        }
        let best = ranked.min {
            ($0.rank, -bindings[$0.index].registeredAt) < ($1.rank, -bindings[$1.index].registeredAt)
        }
        for index in device where index != best?.index {
            skip(index, best == nil ? obstacle(to: event, for: bindings[index]) : .otherToken)
        }
        guard let best else { return }
        let binding = bindings[best.index]
        if pushes.contains(where: { Self.isSameTarget(bindings[$0.index], binding) }) {
            return skip(best.index, .sameToken)
        }
        let hasVoIP = device.contains { bindings[$0].provider == .apns && bindings[$0].service == .voip }
        pushes.append(
            Chosen(
                index: best.index, type: type(of: event, for: binding, besideVoIP: hasVoIP),
                delay: Self.delay(of: binding)))
    }

    private mutating func skip(_ index: Int, _ reason: Reason) { skipped.append(Skipped(index: index, reason: reason)) }

    /// Lower is better; nil when the binding must not get the event.
    private func rank(of binding: Binding, for event: PushEvent) -> Int? {
        let isCall = event == .call
        switch binding.provider {
        case .apns:
            guard APNsRequest.pushType(of: event, for: binding.service, wanted: wanted) != nil else { return nil }
            return isCall && binding.service == .remote ? 9 : binding.service == nil ? 1 : 0
        case .acrobits:
            guard event != .refresh else { return nil }
            switch binding.service {
            case .voip: return isCall ? 4 : nil
            case .remote: return isCall ? nil : 4
            case .complication, .fileProvider, .pushToTalk: return nil
            case nil: return 5
            }
        default: return binding.provider.row.rank
        }
    }

    private func obstacle(to event: PushEvent, for binding: Binding) -> Reason {
        if let service = binding.service, !service.takesPushes { return .otherUse }
        return switch (binding.provider, binding.service) {
        case (.apns, let service):
            APNsRequest.pushType(of: event, for: service) != nil
                ? .otherType : binding.dialect.namesService ? .voipTokenOnly : .countsAsVoIP
        case (_, .voip): .callTokenOnly
        case (_, .remote): event == .refresh ? .noSuchPush : .notForCalls
        case (_, _): .noSuchPush
        }
    }

    /// A phone that rings through CallKit is told silently that the ringing is over; one that shows an
    /// alert gets another alert, which takes the first one's place.
    private func type(of event: PushEvent, for binding: Binding, besideVoIP: Bool) -> APNsPushType? {
        guard binding.provider == .apns else { return nil }
        if wanted == nil, besideVoIP, event == .cancel || event == .answeredElsewhere { return .background }
        return APNsRequest.pushType(of: event, for: binding.service, wanted: wanted)
    }

    private static func delay(of binding: Binding) -> Int64 {
        guard let attribute = binding.attributes[.timeout], let seconds = Int64(attribute) else { return 0 }
        return min(max(seconds, 0), longestDelay) * 1000
    }

    /// Indices by device: the instance tells devices apart, else the Contact, else nothing is shared.
    ///
    /// A user has few: each is compared with the first of every device.
    private static func devices(_ bindings: [Binding]) -> [[Int]] {
        var devices: [[Int]] = []
        for index in bindings.indices {
            let name = deviceName(bindings[index])
            if !name.isEmpty, let device = devices.firstIndex(where: { deviceName(bindings[$0[0]]) == name }) {
                devices[device].append(index)
            } else {
                devices.append([index])
            }
        }
        return devices
    }

    private static func deviceName(_ binding: Binding) -> String {
        binding.instance.isEmpty ? binding.contact : binding.instance
    }

    private static func isSameTarget(_ a: Binding, _ b: Binding) -> Bool {
        a.provider == b.provider && a.token == b.token && a.app == b.app && a.environment == b.environment
            && a.service == b.service && a.attributes[.selector] == b.attributes[.selector]
    }
}
