// SPDX-License-Identifier: MIT

/// The 32 reasons of Apple's "Handling notification responses from APNs".
enum APNsReason: String, CaseIterable, Sendable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    /// The reason that a status most often has.
    static func usual(for status: Int) -> APNsReason {
        switch status {
        case 400: .badDeviceToken
        case 403: .invalidProviderToken
        case 410: .unregistered
        case 429: .tooManyRequests
        default: allCases.first { $0.status == status } ?? .internalServerError
        }
    }

    /// The HTTP status that Apple sends with the reason.
    var status: Int {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }
}

/// Why a push is refused, as a typed error of the checks.
struct APNsRejection: Error {
    let reason: APNsReason

    init(_ reason: APNsReason) { self.reason = reason }
}

/// The values of `apns-push-type` and the topic suffix that each wants.
enum APNsPushType: String, CaseIterable {
    case alert, background, voip, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, widgets

    /// What the topic must end with; empty for a bare bundle id, nil when any topic will do.
    var topicSuffix: String? {
        switch self {
        case .alert, .background: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .mdm: nil
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The type whose suffix a topic carries: `alert` stands for a bare bundle id.
    static func ofTopic(_ topic: ArraySlice<UInt8>) -> APNsPushType {
        for type in suffixed where ends(topic, type.suffix) { return type.type }
        return .alert
    }

    /// Reads a header value without making a String.
    init?(_ value: ArraySlice<UInt8>) {
        for type in Self.names where value.elementsEqual(type.name) {
            self = type.type
            return
        }
        return nil
    }

    private static func ends(_ topic: ArraySlice<UInt8>, _ suffix: [UInt8]) -> Bool {
        topic.count > suffix.count && topic.suffix(suffix.count).elementsEqual(suffix)
    }

    private static let names = allCases.map { (name: Array($0.rawValue.utf8), type: $0) }
    private static let suffixed: [(suffix: [UInt8], type: APNsPushType)] = allCases.compactMap { type in
        guard let suffix = type.topicSuffix, !suffix.isEmpty else { return nil }
        return (Array(suffix.utf8), type)
    }
}
