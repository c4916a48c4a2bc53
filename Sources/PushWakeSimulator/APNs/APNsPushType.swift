// SPDX-License-Identifier: MIT

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
