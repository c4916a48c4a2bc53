// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// All requests for which phones are woken or watched, found by their host's handle, by user, and by what makes forks
/// the same request.
///
/// It bounds itself: an entry lives as long as the request may be held, and then a minute for phones that come late, or
/// less when there are too many.
///
/// An object, so that it is asked without a copy.
final class HeldRequests {
    private var requests: [RequestID: HeldRequest] = [:]
    private var byUser: [UserKey: [HeldRequest]] = [:]
    private var byKey: [WakeKey: RequestPushes] = [:]
    /// In the order in which they end: when each may be forgotten.
    private var ended = RingBuffer<(at: Int64, request: HeldRequest)>()
    private let most: Int
    /// Is told of each user who has a request.
    var onAdd: ((String) -> Void)?
    /// Requests that were over and had to make room.
    private(set) var forgottenEarly = 0

    /// Remembers so many, about 1.2 kB each.
    init(most: Int) { self.most = max(most, 1) }

    /// Whether another may be held.
    var hasRoom: Bool { live < most }

    var count: Int { requests.count }
    /// Those that have not ended.
    private(set) var live = 0

    subscript(id: RequestID) -> HeldRequest? { requests[id] }

    /// Requests for one user, the oldest first.
    func requests(for aor: String) -> [HeldRequest] { byUser[UserKey(aor)] ?? [] }

    /// Who has requests.
    var users: [String] { byUser.values.compactMap(\.first?.aor) }

    /// The pushes that a request shares with its forks, or those that a dialplan has begun. One that was given up begins anew.
    func pushes(of key: WakeKey, after ahead: HeldRequest?) -> RequestPushes {
        if let ahead, !ahead.machine.isGivenUp { return ahead.pushes }
        // Found and added with one look.
        return Self.kept(&byKey[key, default: RequestPushes()])
    }

    private static func kept(_ pushes: inout RequestPushes) -> RequestPushes { pushes }

    /// What a dialplan has woken the phones of this call by, before it dialled them; or another leg that goes on with it.
    func wokenAhead(of message: WakeMessage) -> HeldRequest? {
        guard message.isWaitingLeg, message.hostKind == .dialplan, message.event == .call else { return nil }
        return requests(for: message.aor).last { known in
            !known.hasEnded && known.message.callID == message.callID
                && (known.isAhead || known.pushes.areOfDialplan) && known.isFor(message.domain)
        }
    }

    /// A leg goes on with the pushes of this one, of which nobody will hear again.
    func remove(handedOver request: HeldRequest) {
        end(request, forgetAt: 0)
        if byKey[request.message.key] === request.pushes { byKey[request.message.key] = nil }
        request.pushes.handOver(from: request)
        remove(request)
    }

    func add(_ request: HeldRequest) {
        onAdd?(request.aor)
        if let old = requests.updateValue(request, forKey: request.id) { remove(old) }
        byUser[UserKey(request.aor), default: []].append(request)
        request.pushes.live += 1
        live += 1
        while requests.count > most, let oldest = ended.popFirst() {
            remove(oldest.request)
            forgottenEarly += 1
        }
    }

    /// It has ended: it stays for phones that come late, until `time`. A second end changes nothing.
    func end(_ request: HeldRequest, forgetAt time: Int64) {
        guard !request.hasEnded else { return }
        request.hasEnded = true
        request.forgetAt = time
        request.pushes.live -= 1
        live -= 1
        ended.append((time, request))
    }

    /// Forgets what is over at `now`.
    func sweep(now: Int64) {
        var users: Set<UserKey> = []
        while let oldest = ended.first, oldest.at <= now {
            _ = ended.popFirst()
            forget(oldest.request)
            users.insert(UserKey(oldest.request.aor))
        }
        // One walk for each user, however many of his requests go.
        for user in users { dropForgotten(of: user) }
    }

    /// Requests whose host never told their end.
    func abandoned(now: Int64) -> [HeldRequest] {
        requests.values.filter { $0.machine.end == nil && $0.forgetAt <= now }
    }

    /// Those that have not ended and fit.
    func live(where fits: (HeldRequest) -> Bool) -> [HeldRequest] {
        requests.values.filter { $0.machine.end == nil && fits($0) }
    }

    private func remove(_ request: HeldRequest) {
        forget(request)
        dropForgotten(of: UserKey(request.aor))
    }

    private func dropForgotten(of user: UserKey) {
        byUser[user]?.removeAll(where: \.isForgotten)
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
    }

    /// All but the list of its user.
    private func forget(_ request: HeldRequest) {
        if requests[request.id] === request { requests[request.id] = nil }
        request.pushes.forget(request)
        let key = request.message.key
        if byKey[key] === request.pushes, request.pushes.live <= 0 { byKey[key] = nil }
    }
}

/// One request for which phones are woken or watched: its machine, its devices' bindings, and the pushes under way.
final class HeldRequest {
    let id: RequestID
    let message: WakeMessage
    var machine: CallMachine
    /// Of the user, when the request came.
    let bindings: [Binding]
    let devices: CallDevices
    /// What phones are told of it.
    let content: PushContent
    /// Shared with the other forks of the same request.
    let pushes: RequestPushes
    /// Monotonic milliseconds at which the request came.
    let beganAt: Int64
    /// Where its trace is written.
    let trace: TraceID
    /// What is measured of it.
    var times: RequestTimes
    /// It is no longer counted among those that are held.
    fileprivate(set) var hasEnded = false
    /// Nobody finds it any more.
    var isForgotten = false
    /// Its channel has asked anew.
    var isSuperseded = false
    /// When a device was pushed first, until it registers: what a wake is measured from.
    var pushedAt = DeviceTimes()
    /// When the machine is asked next, and the timer that will ask it.
    var timer: (at: Int64, id: Loop.TimerID)?
    /// Monotonic milliseconds at which it is forgotten, whatever its host says.
    var forgetAt: Int64
    /// Channels that wait, by identity.
    var waiters: [any WakeWaiter] = []
    /// The channel that waited has gone on with a phone.
    var isHandedOver = false
    /// Contacts that were rung since it began: a wait that starts late hears of them at once.
    var rung: [String] = []
    /// Those that a channel has heard of: its dialplan has had them.
    var reportedRung: [String] = []
    /// Why the last push failed.
    var lastReason = ""
    /// What a contact is called by its host: few, so that a list is searched sooner than a table is made.
    private var keys: [(uri: String, key: String)]
    /// Of the last HOLD or GIVE_UP for its host, whose processes may execute them in another order.
    private var turn = 0
    /// Contacts that registered at another node, by key.
    var elsewhere: [String: ElsewhereContact] = [:]

    init(
        id: RequestID, message: WakeMessage, machine: consuming CallMachine, bindings: [Binding],
        devices: CallDevices, content: PushContent, pushes: RequestPushes, trace: TraceID, beganAt: Int64,
        forgetAt: Int64, arrivedAt: Int64? = nil
    ) {
        self.id = id
        self.message = message
        self.machine = machine
        self.bindings = bindings
        self.devices = devices
        self.content = content
        self.pushes = pushes
        self.trace = trace
        self.beganAt = beganAt
        self.forgetAt = forgetAt
        times = RequestTimes(arrivedAt: arrivedAt)
        keys = message.contacts.map { ($0.uri, $0.key) }
    }

    var aor: String { message.aor }

    /// The number of the next HOLD or GIVE_UP.
    func nextTurn() -> Int {
        turn += 1
        return turn
    }

    /// Milliseconds since it came.
    func age(_ now: Int64) -> Int64 { max(0, now - beganAt) }

    /// The URI of a contact that verbs name by its key.
    func uri(of key: String) -> String { keys.first { $0.key == key }?.uri ?? key }

    /// What the host calls the contact of a REGISTER, push parameters or not.
    func key(of uri: String) -> String {
        if let known = keys.first(where: { $0.uri == uri }) { return known.key }
        let bare = Binding.withoutPushParameters(uri)
        return keys.first { $0.uri == bare }?.key ?? uri
    }

    /// The host calls a contact so from now on.
    func name(_ uri: String, _ key: String) {
        if let index = keys.firstIndex(where: { $0.uri == uri }) {
            keys[index].key = key
        } else {
            keys.append((uri, key))
        }
    }

    /// A contact was rung, or came too late for it.
    func remember(rung contact: String) {
        if rung.count < Self.longestRung, !rung.contains(contact) { rung.append(contact) }
    }

    private static let longestRung = 32

    /// Whether the device with one of these tokens has said no.
    func hasDeclined(_ device: CallDevice) -> Bool {
        devices.devices.indices.contains { index in
            machine.hasDeclined(index) && devices.devices[index].tokens.contains { device.tokens.contains($0) }
        }
    }

    /// A dialplan wakes phones by it before it dials them (Asterisk's PushWake()).
    var isAhead: Bool {
        guard case .handle = id else { return false }
        return message.hostKind == .dialplan && message.event == .call && !message.isWaitingLeg
    }

    /// A push for it has brought the device, which is still where it registered then.
    func hasWoken(_ device: CallDevice) -> Bool {
        guard let reach = device.contacts.first?.reach, reach == .datagram || reach == .open else { return false }
        return device.tokens.contains { pushes.known($0)?.wokenAt != nil }
    }

    /// Of the registrar's tables, the one it is for.
    func isFor(_ domain: String) -> Bool { domain.isEmpty || message.domain.isEmpty || domain == message.domain }

    /// For log lines.
    var label: String { EngineLog.names(message.aor, message.callID) }
}

/// A time for some of a request's devices: few, so that a list is searched sooner than a table is made.
struct DeviceTimes {
    private var times: [(device: Int, at: Int64)] = []

    var isEmpty: Bool { times.isEmpty }

    /// Those that have one.
    var devices: [Int] { times.map(\.device) }

    /// Its time; nil when it has none.
    subscript(device: Int) -> Int64? {
        for index in times.indices where times[index].device == device { return times[index].at }
        return nil
    }

    /// Gives a device a time, unless it has one.
    mutating func note(_ device: Int, _ time: Int64) {
        if self[device] == nil { times.append((device, time)) }
    }

    /// Forgets that of a device, and says what it was.
    @discardableResult mutating func remove(_ device: Int) -> Int64? {
        for index in times.indices where times[index].device == device { return times.remove(at: index).at }
        return nil
    }
}
