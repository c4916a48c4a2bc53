// SPDX-License-Identifier: MIT

/// The request headers that some check looks at; all others are `other`.
enum HeaderName: UInt8, Sendable {
    case other, method, path, authority, scheme, authorization
    case apnsTopic, apnsPushType, apnsPriority, apnsExpiration, apnsID, apnsCollapseID
    case contentType, contentEncoding, ttl, urgency, topic
    case webhookSignature, webhookID, apiKey, pushType

    /// Bit in a set of names seen.
    var bit: UInt32 { 1 &<< UInt32(rawValue) }

    /// Reads a lower-case name; length first, so that most names cost two comparisons.
    @inline(__always)
    init(_ name: UnsafeBufferPointer<UInt8>) {
        self = Self.candidate(length: name.count, first: name.first ?? 0, last: name.last ?? 0)
        guard self != .other, !Self.equal(name, text) else { return }
        self = .other
    }

    private static func candidate(length: Int, first: UInt8, last: UInt8) -> HeaderName {
        switch length {
        case 3: .ttl
        case 5: first == UInt8(ascii: "t") ? .topic : .path
        case 7:
            switch first {
            case UInt8(ascii: "a"): .apnsID
            case UInt8(ascii: "u"): .urgency
            default: last == UInt8(ascii: "d") ? .method : .scheme
            }
        case 9: first == UInt8(ascii: "x") ? .apiKey : .pushType
        case 10: first == UInt8(ascii: ":") ? .authority : .apnsTopic
        case 12: .contentType
        case 13:
            switch last {
            case UInt8(ascii: "n"): .authorization
            case UInt8(ascii: "d"): .webhookID
            default: .apnsPriority
            }
        case 14: .apnsPushType
        case 15: .apnsExpiration
        case 16: first == UInt8(ascii: "a") ? .apnsCollapseID : .contentEncoding
        case 20: .webhookSignature
        default: .other
        }
    }

    private static func equal(_ name: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard name.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<name.count where name[index] != text.utf8Start[index] { return false }
        return true
    }

    /// The name on the wire.
    var text: StaticString {
        switch self {
        case .other: ""
        case .method: ":method"
        case .path: ":path"
        case .authority: ":authority"
        case .scheme: ":scheme"
        case .authorization: "authorization"
        case .apnsTopic: "apns-topic"
        case .apnsPushType: "apns-push-type"
        case .apnsPriority: "apns-priority"
        case .apnsExpiration: "apns-expiration"
        case .apnsID: "apns-id"
        case .apnsCollapseID: "apns-collapse-id"
        case .contentType: "content-type"
        case .contentEncoding: "content-encoding"
        case .ttl: "ttl"
        case .urgency: "urgency"
        case .topic: "topic"
        case .webhookSignature: "x-pushwake-signature"
        case .webhookID: "x-pushwake-id"
        case .apiKey: "x-api-key"
        case .pushType: "push-type"
        }
    }
}
