// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport
import Testing

enum Samples {
    static let voip = Binding(
        aor: "bob", provider: .apns, app: "com.example.phone", team: "DEF123GHIJ", service: .voip,
        token: "0a1b2c3d4e5f", dialect: .rfc8599, instance: "<urn:uuid:1>", contact: "sip:bob@192.0.2.1")
    static let remote = Binding(
        aor: "bob", provider: .apns, app: "com.example.phone", team: "DEF123GHIJ", service: .remote,
        token: "ffeeddccbbaa", dialect: .rfc8599, instance: "<urn:uuid:1>", contact: "sip:bob@192.0.2.1")
    static let untyped = Binding(
        aor: "bob", provider: .apns, app: "com.example.phone", token: "0a1b2c3d4e5f", dialect: .mpush,
        contact: "sip:bob@192.0.2.2")
    static let android = Binding(
        aor: "bob", provider: .fcm, app: "com.example.droid", token: "c-10-ap_Kt0:APA91bF", dialect: .rfc8599,
        instance: "<urn:uuid:2>", contact: "sip:bob@192.0.2.3")

    static func content(_ event: PushEvent, text: String = "") -> PushContent {
        PushContent(
            event: event, callID: "call-1@192.0.2.9", fromURI: "sip:alice@example.com", fromDisplay: "Alice",
            toURI: "sip:bob@example.com", text: text, timeToLive: 40, sentAt: 1_700_000_000)
    }

    static let id = PushID(high: 0x0123_4567_89AB_CDEF, low: 0x0123_4567_89AB_CDEF)
}

/// Compares what a call that changes its receiver returned: `#expect` cannot hold such a call itself.
func expectEqual<T: Equatable>(_ value: T, _ expected: T, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

/// What requests and templates give, read by jansson, which shares nothing with what writes them.
enum JSON {
    /// Nil where the bytes are no JSON.
    static func parse(_ bytes: [UInt8]) -> JSONValue? { try? JSONParser.parse(bytes) }

    static func parse(_ text: String) -> JSONValue? { try? JSONParser.parse(text) }
}

extension JSONValue {
    /// The value at a dotted path.
    func at(_ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(self as JSONValue?) { $0?[String($1)] }
    }

    var memberNames: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }
}
