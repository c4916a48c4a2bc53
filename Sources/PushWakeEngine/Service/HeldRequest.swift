// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

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
    /// Where its story is written.
    let trace: TraceID
    /// When a device was pushed first, until it registers: what a wake is measured from.
    var pushedAt: [Int: Int64] = [:]
    /// When the machine is asked next, and the timer that will ask it.
    var timer: (at: Int64, id: Loop.TimerID)?
    /// Monotonic milliseconds at which it is forgotten, whatever its host says.
    var forgetAt: Int64
    /// Channels that wait, by identity.
    var waiters: [any WakeWaiter] = []
    /// Contacts that were rung since it began: a wait that starts late hears of them at once.
    var rung: [String] = []
    /// Why the last push failed.
    var lastReason = ""
    /// What a contact is called by its host, by URI.
    var keys: [String: String]

    init(
        id: RequestID, message: WakeMessage, machine: consuming CallMachine, bindings: [Binding],
        devices: CallDevices, content: PushContent, pushes: RequestPushes, trace: TraceID, beganAt: Int64,
        forgetAt: Int64
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
        keys = Dictionary(message.contacts.map { ($0.uri, $0.key) }, uniquingKeysWith: { first, _ in first })
    }

    var aor: String { message.aor }

    /// The URI of a contact that verbs name by its key.
    func uri(of key: String) -> String { keys.first { $0.value == key }?.key ?? key }

    /// What the host calls the contact of a REGISTER, push parameters or not.
    func key(of uri: String) -> String { keys[uri] ?? keys[Binding.withoutPushParameters(uri)] ?? uri }

    /// A contact was rung, or came too late for it.
    func remember(rung contact: String) {
        if rung.count < Self.longestRung, !rung.contains(contact) { rung.append(contact) }
    }

    private static let longestRung = 32

    /// Of the registrar's tables, the one it is for.
    func isFor(_ domain: String) -> Bool { domain.isEmpty || message.domain.isEmpty || domain == message.domain }

    /// For log lines.
    var label: String { EngineLog.names(message.aor, message.callID) }
}

/// The pushes of one request and of its forks: each token gets one.
final class RequestPushes {
    /// One token's push.
    struct Entry {
        /// Nil while it is under way.
        var isAccepted: Bool?
        var job: PushJob?
        /// How the last one ended, for forks that come later.
        var result: PushResult?
        /// The records of the token have the acceptance, and the wake.
        var isCounted = false
        var hasWoken = false
        /// Who wants to hear of its outcome.
        var followers: [(request: HeldRequest, device: Int)] = []
    }

    var entries: [String: Entry] = [:]
    /// Requests that share it and have not ended.
    var live = 0
}
