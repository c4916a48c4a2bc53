// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport
import Testing

@testable import PushWakeEngine

/// Explains requests to one phone, with Flexisip's payloads and without keys.
struct ExplainFixture {
    static let remote = String(repeating: "R", count: 64)
    static let voip = String(repeating: "V", count: 64)
    static let twoTokens =
        "pn-provider=apns;pn-prid=\(remote):remote&\(voip):voip;pn-param=ABCD1234.org.example.phone.remote&voip"
    static let remoteOnly = "pn-provider=apns;pn-prid=\(remote);pn-param=ABCD1234.org.example.phone"
    static let android = "pn-provider=fcm;pn-prid=device_id;pn-param=sample-project"
    static let everyProvider = [
        twoTokens, remoteOnly, android, "pn-provider=acrobits;pn-prid=8A2B;pn-param=cz.acrobits.softphone",
        "pn-provider=huawei;pn-prid=1;pn-param=com.example.phone",
        "pn-provider=webpush;pn-prid=https://fcm.googleapis.com/wp/1"
            + ";pn-p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            + ";pn-auth=BTBZMqHH6r4Tts7J_aSIgg",
    ]
    static let instance = "<urn:uuid:00000000-0000-0000-0000-000000000001>"
    static let now: Int64 = 1_700_000_000

    var settings = Settings()
    var family = BuiltInPayloads.Family.flexisip
    var project: String?

    /// A REGISTER whose Contact has these URI parameters.
    static func register(_ parameters: String, expires: Int = 600) -> [UInt8] {
        Array(
            """
            REGISTER sip:sip.example.org SIP/2.0
            To: <sip:bob@sip.example.org>
            From: <sip:bob@sip.example.org>;tag=r
            Call-ID: register
            CSeq: 1 REGISTER
            Contact: <sip:bob@192.0.2.1:5060;\(parameters)>;+sip.instance="\(instance)";expires=\(expires)

            """.utf8)
    }

    /// A request of Alice's to Bob.
    static func request(
        _ method: String, headers: [String] = [], from: String = "\"Alice\" <sip:alice@sip.example.org>",
        to: String = "",
        callID: String = "call-1", uri: String = "sip:bob@sip.example.org", body: String = ""
    ) -> [UInt8] {
        let lines = [
            "\(method) \(uri) SIP/2.0", "From: \(from);tag=a", "To: <sip:bob@sip.example.org>\(to)",
            "Call-ID: \(callID)", "CSeq: 1 \(method)",
        ]
        return Array(((lines + headers).joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }

    func explain(
        _ parameters: String, _ request: [UInt8], event: PushEvent? = nil, wanted: APNsPushType? = nil
    ) throws -> Explained {
        try explain(register: Self.register(parameters), request, event: event, wanted: wanted)
    }

    func explain(
        register: [UInt8], _ request: [UInt8], event: PushEvent? = nil, wanted: APNsPushType? = nil
    ) throws -> Explained {
        let explanation = try PushExplanation.explain(
            register: register, request: request, event: event, wanted: wanted,
            ExplainedSettings(
                settings: settings, payloads: try PayloadLibrary(family), webhook: try WebhookSetup.load(settings),
                project: { [project] app in project ?? app }),
            now: Self.now, id: PushID(high: 1, low: 2))
        let document = try JSONParser.parse(explanation.json)
        return Explained(
            requests: try #require(document["requests"]?.array), skipped: try #require(document["skipped"]?.array),
            problems: explanation.problems, text: String(decoding: explanation.json, as: UTF8.self))
    }
}

/// What came out, read by a parser that shares nothing with the writer.
struct Explained {
    let requests: [JSONValue]
    let skipped: [JSONValue]
    let problems: [String]
    /// The JSON itself.
    let text: String

    var reasons: [String] { skipped.compactMap { $0["reason"]?.string } }

    /// `alert org.example.phone RRRR…` of the only request.
    var target: String? {
        guard requests.count == 1, let request = requests.first, let url = request["url"]?.string else { return nil }
        let headers = request["headers"]
        return [headers?["apns-push-type"]?.string, headers?["apns-topic"]?.string, url].compactMap { $0 }
            .joined(separator: " ")
    }

    /// The value at a dotted path in the only request.
    subscript(path: String) -> JSONValue? {
        guard requests.count == 1 else { return nil }
        return path.split(separator: ".").reduce(requests.first) { $0?[String($1)] }
    }

    func header(_ name: String) -> String? { self["headers"]?[name]?.string }
}
