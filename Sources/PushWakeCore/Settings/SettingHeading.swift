// SPDX-License-Identifier: MIT

/// What a setting is about: the chapters of docs/settings.md, in the order of the settings.
public enum SettingHeading: String, CaseIterable, Sendable {
    case engine = "Engine"
    case store = "Store"
    case bindings = "Bindings"
    case register = "REGISTER"
    case calls = "Calls"
    case limits = "Limits and load"
    case payload = "Payload"
    case apple = "Apple"
    case google = "Google"
    case webPush = "Web Push"
    case otherServices = "Other services"
    case webhook = "Webhook"
    case toProviders = "To providers"
    case gateway = "Gateway"
    case http = "HTTP"
    case fastAGI = "FastAGI"
    case hep = "HEP"

    /// The settings under it.
    var rows: [SettingDescription] {
        switch self {
        case .engine: SettingsTable.engine
        case .store: SettingsTable.store
        case .bindings: SettingsTable.bindings
        case .register: SettingsTable.register
        case .calls: SettingsTable.calls
        case .limits: SettingsTable.limits
        case .payload: SettingsTable.payload
        case .apple: SettingsTable.apple
        case .google: SettingsTable.google
        case .webPush: SettingsTable.webPush
        case .otherServices: SettingsTable.otherServices
        case .webhook: SettingsTable.webhook
        case .toProviders: SettingsTable.toProviders
        case .gateway: SettingsTable.gateway
        case .http: SettingsTable.http
        case .fastAGI: SettingsTable.fastAGI
        case .hep: SettingsTable.hep
        }
    }

    /// A sentence that says what they are for.
    public var about: StaticString {
        switch self {
        case .engine: "The process that keeps bindings and sends pushes, and how the PBX reaches it."
        case .store: "Where bindings are kept, and what nodes that share them know of each other."
        case .bindings: "How many push bindings a user has, and what takes one away."
        case .register: "What a phone is told when it registers."
        case .calls: "What happens to a call or a message between its arrival and its end."
        case .limits: "How many pushes there may be, and which go first when there are too many."
        case .payload: "What a push says."
        case .apple: "APNs, for iPhones."
        case .google: "FCM, for Android phones."
        case .webPush: "Browsers and UnifiedPush."
        case .otherServices: "Push services of single vendors."
        case .webhook: "An HTTP server of your own, for every other push service."
        case .toProviders: "How all push services are reached."
        case .gateway: "Phones that are registered at SIP servers behind this one."
        case .http: "The page for operators, metrics, and the interface for apps and programs."
        case .fastAGI: "The AGI commands over the network, for an Asterisk without PushWake's module."
        case .hep: "Where the steps of calls are captured."
        }
    }
}
