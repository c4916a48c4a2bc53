// SPDX-License-Identifier: MIT

internal import CPushWake
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

/// What is behind a `pushwake_settings *`.
final class SettingsHandle {
    var settings = Settings()
    /// The file that they came from; what is set later stands above it.
    var source: SettingsSource?
    /// Names all processes of this PBX to the engine; what is forked later inherits it.
    var host = UInt64.random(in: 1...UInt64.max)
    var error = ""
    /// What checking the settings found, as the engine says it: each is said once.
    var said: [String] = []
    let arena = TextArena()
    /// Apart from `arena`: an error text outlives reading a value.
    let errorArena = TextArena()

    /// Whether the host has said this already; true only once, since an engine that says it again has a reason.
    func takeSaid(_ text: String) -> Bool {
        guard let index = said.firstIndex(of: text) else { return false }
        said.remove(at: index)
        return true
    }
}

/// What is behind a `pushwake_client *`; of a shared one, what each thread asks with.
final class ClientHandle {
    let settings: Settings
    let refusals: RefusalRules
    let requests: RequestPolicy
    let client: EngineClient
    let host: UInt64
    let arena = TextArena()
    let errorArena = TextArena()
    /// The verbs of the last answer.
    let verbs = StructArena<pushwake_verb>()
    /// The lists of the last answer to a REGISTER.
    let problems = BorrowedArray<pushwake_str>()
    let leftContacts = BorrowedArray<pushwake_str>()
    let headers = BorrowedArray<pushwake_header>()
    private(set) var error = ""
    /// Those of all threads, once it is shared.
    private(set) var threads: ThreadClients?
    private var warning = EngineWarning()

    init(settings: Settings, host: UInt64) {
        self.settings = settings
        self.host = host
        refusals = RefusalRules(settings)
        requests = RequestPolicy(settings)
        client = EngineClient(settings: settings)
    }

    /// The same for a thread that shares its connections with others.
    init(_ template: ClientHandle, links: EngineLinks) {
        settings = template.settings
        host = template.host
        refusals = template.refusals
        requests = template.requests
        client = EngineClient(settings: settings, links: links)
    }

    /// False when the process has no room for what belongs to a thread.
    func share() -> Bool {
        if threads == nil { threads = ThreadClients(ClientHandle(settings: settings, host: host)) }
        return threads != nil
    }

    /// As `EngineWarning.line`.
    func warn(_ text: String, now: Int64) -> String? {
        threads.map { $0.warn(text, now: now) } ?? warning.line(text, now: now)
    }

    /// Remembers what is wrong with an argument.
    func wrong(_ text: String) -> CInt {
        error = text
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }

    /// Remembers a failure and gives its status.
    func status(of error: ClientError) -> CInt {
        switch error {
        case .unavailable(let text):
            self.error = text
            return PUSHWAKE_ERR_UNAVAILABLE.rawValue
        case .timeout:
            self.error = "the engine did not answer within engine_timeout; calls go on without push"
            return PUSHWAKE_ERR_TIMEOUT.rawValue
        case .tooLarge:
            self.error = "the request is longer than one message to the engine"
            return PUSHWAKE_ERR_TOO_LARGE.rawValue
        case .refused(let text):
            self.error = text
            return PUSHWAKE_ERR_REFUSED.rawValue
        case .notFound(let text):
            self.error = text
            return PUSHWAKE_ERR_NOT_FOUND.rawValue
        }
    }
}

/// What is behind a `pushwake_supervisor *`.
final class SupervisorHandle {
    let supervisor: EngineSupervisor

    init(_ supervisor: EngineSupervisor) { self.supervisor = supervisor }
}

/// Gives an object to a C caller; `take` gets it back for good.
func give<Handle: AnyObject>(_ handle: Handle) -> OpaquePointer {
    OpaquePointer(Unmanaged.passRetained(handle).toOpaque())
}

/// The object behind a pointer that `give` made; nil for NULL.
func borrow<Handle: AnyObject>(_ pointer: OpaquePointer?, as type: Handle.Type) -> Handle? {
    guard let pointer else { return nil }
    return Unmanaged<Handle>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
}

/// Takes an object back from the C caller, who must not use the pointer again.
func take<Handle: AnyObject>(_ pointer: OpaquePointer?, as type: Handle.Type) -> Handle? {
    guard let pointer else { return nil }
    return Unmanaged<Handle>.fromOpaque(UnsafeRawPointer(pointer)).takeRetainedValue()
}
