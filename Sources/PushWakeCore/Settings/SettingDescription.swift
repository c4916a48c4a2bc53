// SPDX-License-Identifier: MIT

/// One row of the settings table: what a setting is called, what fits it, and what it means.
public struct SettingDescription: Sendable {
    /// What a value may be.
    public enum Kind: Equatable, Sendable {
        case text
        case path
        /// `https://host[:port]`, no path.
        case origin
        /// `https://host[:port]/path`.
        case url
        /// `[http://][user:password@]host:port`; a secret, as it may hold a password.
        case proxy
        case integer(ClosedRange<Int64>)
        /// 0 or 1; also yes/no, on/off, true/false.
        case flag
        case choice([String])
        /// Names of built-in payloads (`PayloadFamilies`).
        case payloads
        /// Methods that wake phones (`WakingMethods`).
        case methods
        /// `sqlite`, `memory` or the address of a server (`StoreChoice`).
        case store
        /// A SIP URI of a host, or empty.
        case nodeURI
        /// `host:port`, perhaps after a transport (`CaptureAddress`), or empty.
        case capture
    }

    /// Static, so that a C caller may keep the pointer.
    public let name: StaticString
    /// What a value is checked against.
    public let kind: Kind
    /// As it would be written in a file; empty for none.
    public let defaultValue: StaticString
    /// `s`, `ms`, `days`, or empty.
    public let unit: StaticString
    /// Whole sentences for docs/settings.md.
    public let help: StaticString
    init(
        _ name: StaticString, _ kind: Kind, _ defaultValue: StaticString, unit: StaticString = "", _ help: StaticString
    ) {
        self.name = name
        self.kind = kind
        self.defaultValue = defaultValue
        self.unit = unit
        self.help = help
    }

    /// Whether a host may hand the value over as a number.
    public var isInteger: Bool {
        switch kind {
        case .integer, .flag: true
        default: false
        }
    }
}

/// A value that does not fit its setting, or a setting that does not exist.
public struct SettingError: Error, Equatable, Sendable {
    /// Its name, or what was written in place of one.
    public let setting: String
    /// What is wrong and what to do.
    public let message: String

    public init(setting: String, message: String) {
        // A line of a file that is none may hold what a terminal obeys.
        self.setting = PrintableText.cleaned(setting)
        self.message = message
    }
}

/// Every setting that exists. Kamailio modparams, pushwake.conf, `pushwake check` and
/// docs/settings.md all come from `SettingsTable`, which has one row per case, in this order.
public enum SettingKey: Int, CaseIterable, Sendable {
    case engineMode
    case enginePath
    case engineSocket
    case engineSocketGroup
    case engineTimeout
    case logLevel
    case coreDumps
    case store
    case storePath
    case storeSync
    case storeUser
    case storePasswordFile
    case storeTimeout
    case storeBacklog
    case storePrefix
    case node
    case nodeURI
    case persist
    case bindingsPerUser
    case wakeTimeout
    case wakeRequests
    case voicemailUrgent
    case purr
    case purrRotate
    case purrKeep
    case awakeFor
    case wait
    case silentAfter
    case wakeProvisional
    case declineWaits
    case noAnswerWaits
    case pushRepeat
    case pushRepeats
    case unansweredMessage
    case unregisterPolicy
    case send555
    case minExpires
    case payload
    case flexisipCompat
    case fcmNotification
    case soundCall
    case soundChat
    case soundOther
    case badge
    case showCaller
    case templateDirectory
    case messageTimeToLive
    case ignoreSame
    case devicePushes
    case callerPushes
    case aorPushes
    case wakesKept
    case cancelPush
    case cancelWhen
    case refreshBefore
    case refreshAll
    case loadCall
    case loadCancel
    case loadChat
    case loadMissed
    case loadRefresh
    case fastAGIListen
    case fastAGIAllow
    case fastAGITokenFile
    case httpListen
    case httpCert
    case httpKey
    case httpTokenFile
    case httpUsers
    case httpOperators
    case httpRealm
    case httpRate
    case httpConnections
    case hepCapture
    case hepID
    case caFile
    case connectTimeout
    case requestTimeout
    case queueSize
    case maxFail
    case httpProxy
    case httpProxyAuth
    case noProxy
    case apnsKey
    case apnsKeyID
    case apnsTeamID
    case apnsCert
    case apnsCertPasswordFile
    case apnsEnvironment
    case apnsURL
    case apnsSandboxURL
    case apnsTopic
    case apnsPushType
    case apnsTokenKind
    case apnsMutableContent
    case apnsConnections
    case fcmKey
    case fcmApp
    case fcmKeyDirectory
    case fcmURL
    case fcmAndroidV2
    case fcmBandwidthConstrained
    case fcmConnections
    case vapidKey
    case vapidSubject
    case webPushHosts
    case webPushAllowLocal
    case webPushNavigate
    case acrobits
    case acrobitsURL
    case flexiAPIURL
    case flexiAPIKeyFile
    case flexiAPIApps
    case harmonyOSKey
    case harmonyOSURL
    case webhookURL
    case webhookMethod
    case webhookHeaders
    case webhookHeaderFile
    case webhookBodyType
    case webhookBody
    case webhookBodyFile
    case webhookSecretFile
    case webhookAnswers
    case webhookProviders
    case webhookConnections
    case webhookAllowLocal
    case upperServers
    case upperContact
    case upperPath
    case upperPathHeader
    case upperExpire
    case rebuild
    case keepUpperReg
    case preferMD5Auth
    case regRefresh
    case removeOnRegfail
    case secretKeyFile
    case removeAtNopn
    case removeAtNoprid
    case removeOnCallfail
    case removeOnNoanswer
    case removeOnReject
    case clientMaxOffline
    case oneAoRPerToken
}
