// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// What each part of the engine reads: the settings and what is made of them, counters, traces, the log, and how busy the
/// engine is.
final class EngineContext {
    private(set) var settings: Settings
    private(set) var policy: RegistrationPolicy
    private(set) var callPolicy: CallPolicy
    private var loadPolicies: LoadPolicies
    var statistics = Statistics()
    var times = CallTimes()
    /// What happened to the last requests.
    let traces = TraceRing()
    /// How busy the engine is.
    let load: LoadWatch
    let log: EngineLog
    let loop: Loop
    private var random = Randomness()
    /// Monotonic milliseconds at which the engine started.
    let startedAt = SystemClock.monotonicMilliseconds()

    init(_ settings: Settings, delivery: Delivery, log: EngineLog) {
        self.settings = settings
        self.log = log
        loop = delivery.loop
        load = LoadWatch(delivery: delivery, log: log)
        callPolicy = CallPolicy(settings)
        loadPolicies = LoadPolicies(settings)
        policy = RegistrationPolicy(settings: settings, vapidKey: VAPIDKeyFile.publicKey(settings))
        delivery.onVAPIDKey = { [weak self] key in
            guard let self else { return }
            policy = RegistrationPolicy(settings: self.settings, vapidKey: key)
        }
    }

    /// Goes on with other settings. Requests that are held keep the policy that they began with.
    func take(_ new: Settings) {
        settings = new
        log.threshold = LogLevel(name: new.text(.logLevel))
        callPolicy = CallPolicy(new)
        loadPolicies = LoadPolicies(new)
        policy = RegistrationPolicy(settings: new, vapidKey: policy.vapidKey)
    }

    /// A Call-ID that nobody can guess usefully, for pushes that no request caused.
    func makeCallID() -> String {
        let word = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - word.count) + word + "@pushwake"
    }

    /// How a push for this event ends that the load does not allow; nil when it does.
    func refusal(of event: PushEvent) -> Verdict? { loadPolicies[event].refusal(at: load.meter.level) }

    /// Seconds for which a request is held: its own, or what the setting says now.
    func holdSeconds(of message: WakeMessage) -> Int64 {
        message.seconds > 0 ? min(message.seconds, 86_400) : settings.integer(.wakeTimeout)
    }

    /// Seconds for which a binding outlives its registration.
    private var persistence: Int64 {
        let days = settings.integer(.persist)
        guard days < 0 else { return days * 86_400 }
        return switch load.meter.level.rawValue {
        case ...1: 30 * 86_400
        case 2, 3: 10 * 86_400
        default: 5 * 86_400
        }
    }

    /// When a binding is forgotten whose phone registers now.
    func forgetAt(now: Int64, expires: Int64) -> Int64 {
        let offline = settings.integer(.clientMaxOffline)
        return now + max(expires, offline > 0 ? min(persistence, offline * 86_400) : persistence)
    }
}
