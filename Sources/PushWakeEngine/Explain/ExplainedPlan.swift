// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Requests that would be sent and bindings that would get none, on their way into JSON.
struct ExplainedPlan {
    private var requests: [(binding: Binding, request: HTTPRequest, payload: PayloadLibrary.Choice)] = []
    private var skipped: [(subject: Subject, reason: String)] = []

    /// Who gets nothing.
    private enum Subject {
        case binding(Binding)
        /// A Contact that has no token, or none that can be used.
        case contact(RegisteredContact)
    }

    /// Notes a binding that gets nothing.
    mutating func skip(_ binding: Binding, _ reason: String) { skipped.append((.binding(binding), reason)) }

    /// Notes a Contact that binds nothing.
    mutating func skip(_ contact: RegisteredContact, _ reason: String) { skipped.append((.contact(contact), reason)) }

    /// Chooses among the bindings as the engine does while every phone sleeps, and builds what it would send.
    mutating func add(
        _ candidates: [PushExplanation.Candidate], _ content: PushContent, wanted: APNsPushType?,
        _ settings: ExplainedSettings, now: Int64, id: PushID
    ) {
        for candidate in candidates {
            if let obstacle = candidate.obstacle { skip(candidate.binding, obstacle) }
        }
        let bindings = APNsTokenKind(settings.settings).named(
            candidates.filter { $0.obstacle == nil }.map(\.binding))
        let plan = Plan(content.event, bindings, isAwake: bindings.map { _ in false }, wanted: wanted)
        for (number, push) in plan.pushes.enumerated() {
            let binding = bindings[push.index]
            do throws(PushFailure) {
                let id = PushID(high: id.high, low: id.low &+ UInt64(truncatingIfNeeded: number))
                requests.append(
                    (
                        binding,
                        try settings.request(
                            binding, content, type: push.type, isWanted: wanted != nil, id: id, now: now),
                        settings.payloadChoice(for: binding)
                    ))
            } catch {
                skip(binding, Self.reason(error))
            }
        }
        for skipped in plan.skipped { skip(bindings[skipped.index], skipped.reason.rawValue) }
    }

    private static func reason(_ refusal: PushFailure) -> String {
        switch refusal {
        case .unusableToken: "the token holds what cannot stand in a request"
        case .unusableApp: "no topic or project is known that can stand in a request"
        case .payloadTooLarge: "even without its texts the payload is longer than the provider takes"
        case .noTemplate: "there is no payload template for this provider"
        case .forbiddenURL: "the URL is not https, or its host is not in webpush_hosts or is private"
        case .noSuchPush: Plan.Reason.noSuchPush.rawValue
        case .noWebhook: "no webhook serves this push service; set webhook_url and webhook_providers"
        case .noAccount:
            "no service account serves this package or project; set fcm_key, or fcm_appN and fcm_keyN"
        case .noCertificate:
            "no certificate in apns_cert is for this app and kind of push here, and apns_key is not set"
        case .unusableKeys: "the phone's encryption keys cannot be used"
        case .voipTokenOnly: Plan.Reason.voipTokenOnly.rawValue
        case .signingFailed: "the key cannot sign"
        case .callOver: "the call is over"
        }
    }

    /// The whole as one object.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { document in
            document.name("requests")
            document.array { array in
                for (binding, request, payload) in requests { Self.write(binding, request, payload, to: &array) }
            }
            document.name("skipped")
            document.array { array in
                for (subject, reason) in skipped {
                    array.object { object in
                        Self.write(subject, to: &object)
                        object.name("reason")
                        object.string(reason)
                    }
                }
            }
        }
        return writer.bytes
    }

    private static func write(_ subject: Subject, to object: inout JSONWriter) {
        switch subject {
        case .binding(let binding): write(binding, to: &object)
        case .contact(let contact):
            object.name("binding")
            object.object { members in
                members.name("contact")
                members.string(contact.uri)
                members.name("instance")
                members.string(orNull: contact.instance.isEmpty ? nil : contact.instance)
            }
        }
    }

    private static func write(_ binding: Binding, to object: inout JSONWriter) {
        object.name("binding")
        object.object { RegisterDocument.write(binding, to: &$0) }
    }

    private static func write(
        _ binding: Binding, _ request: HTTPRequest, _ payload: PayloadLibrary.Choice, to array: inout JSONWriter
    ) {
        array.object { object in
            write(binding, to: &object)
            object.name("payload")
            object.string(payload.payload)
            object.name("payload_reason")
            object.string(payload.reason)
            object.name("method")
            object.string(request[":method"] ?? "")
            object.name("url")
            object.string("https://\(request[":authority"] ?? "")\(request[":path"] ?? "")")
            object.name("headers")
            object.object { headers in
                for (name, value) in fields(of: request) {
                    headers.name(name)
                    headers.string(value)
                }
            }
            object.name("body")
            write(body: request.body, to: &object)
        }
    }

    /// Each name once: fields of one name are one list (RFC 9110, 5.3).
    private static func fields(of request: HTTPRequest) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for field in request.headerList where !field.name.hasPrefix(":") {
            if let index = fields.firstIndex(where: { $0.name == field.name }) {
                fields[index].value += ", \(field.value)"
            } else {
                fields.append((field.name, field.value))
            }
        }
        return fields
    }

    /// What is not JSON is told as text, and nothing as null.
    private static func write(body: [UInt8], to object: inout JSONWriter) {
        if body.isEmpty { return object.null() }
        if (try? JSONParser.parse(body)) != nil { return object.value(body) }
        object.string(body.span)
    }
}
