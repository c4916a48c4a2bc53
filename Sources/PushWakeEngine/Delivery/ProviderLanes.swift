// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Which lane a push takes.
struct ProviderLanes {
    private var apnsProduction: (any ProviderLane)?
    private var apnsSandbox: (any ProviderLane)?
    private var fcm: (any ProviderLane)?
    private var standardIsSandbox = false

    /// Reads the keys that the settings name; a lane whose key cannot be used is missing, and the text says why.
    static func open(_ settings: Settings, loop: Loop, log: EngineLog) -> (ProviderLanes, [String]) {
        (ProviderLanes(), [])
    }

    /// The lane of a binding; nil when it is not set up.
    func lane(for binding: Binding) -> (any ProviderLane)? {
        switch binding.provider {
        case .apns:
            switch binding.environment {
            case .production: apnsProduction
            case .sandbox: apnsSandbox
            case .standard: standardIsSandbox ? apnsSandbox : apnsProduction
            }
        case .fcm: fcm
        case .webpush, .acrobits, .webhook: nil
        }
    }

    /// Why there is no lane.
    func absence(of provider: Provider) -> String { "NoCredential" }
}
