// SPDX-License-Identifier: MIT

import PushWakeCore

/// An error of the FCM HTTP v1 API, in Google's body form.
struct FCMError: Error, Equatable {
    /// HTTP status.
    var http: Int
    /// Google's canonical code, such as NOT_FOUND.
    var status: String
    /// The text for people.
    var message: String
    /// `errorCode` of the FcmError detail.
    var code: String?
    /// Field and description of a BadRequest detail.
    var violation: (field: String, description: String)?
    /// What Apple said of it.
    var apple: APNsReason?

    init(
        _ http: Int, _ status: String, _ message: String, code: String? = nil,
        violation: (field: String, description: String)? = nil, apple: APNsReason? = nil
    ) {
        self.http = http
        self.status = status
        self.message = message
        self.code = code
        self.violation = violation
        self.apple = apple
    }

    static func == (left: FCMError, right: FCMError) -> Bool { left.answer == right.answer }

    /// The word for the log: the FCM code, or the status where there is none.
    var reason: String { code ?? status }

    /// The whole answer.
    var answer: ProviderAnswer {
        var details: [JSONValue] = []
        if let code {
            details.append(
                .object([
                    .init("@type", .string("type.googleapis.com/google.firebase.fcm.v1.FcmError")),
                    .init("errorCode", .string(code)),
                ]))
        }
        if let apple {
            details.append(
                .object([
                    .init("@type", .string("type.googleapis.com/google.firebase.fcm.v1.ApnsError")),
                    .init("statusCode", .integer(Int64(apple.status))), .init("reason", .string(apple.rawValue)),
                ]))
        }
        if let violation {
            let entry = JSONValue.object([
                .init("field", .string(violation.field)), .init("description", .string(violation.description)),
            ])
            details.append(
                .object([
                    .init("@type", .string("type.googleapis.com/google.rpc.BadRequest")),
                    .init("fieldViolations", .array([entry])),
                ]))
        }
        var members: [JSONValue.Member] = [
            .init("code", .integer(Int64(http))), .init("message", .string(message)), .init("status", .string(status)),
        ]
        if !details.isEmpty { members.append(.init("details", .array(details))) }
        let json = JSONValue.object([.init("error", .object(members))])
        return ProviderAnswer(status: http, reason: reason, json: json)
    }

    // MARK: The ones that have a name

    /// A value of the wrong type or form.
    static func invalidValue(_ field: String, _ type: String, _ value: JSONValue) -> FCMError {
        let shown = String(decoding: JSONText.bytes(value), as: UTF8.self)
        let text = "Invalid value at '\(field)' (\(type)), \(shown)"
        return FCMError(400, "INVALID_ARGUMENT", text, violation: (field, text))
    }

    /// A field that the API does not know.
    static func unknownName(_ name: String, at field: String) -> FCMError {
        let place = field.isEmpty ? "" : " at '\(field)'"
        let text = "Invalid JSON payload received. Unknown name \"\(name)\"\(place): Cannot find field."
        return FCMError(400, "INVALID_ARGUMENT", text, violation: (field, text))
    }

    /// A field whose value FCM itself refuses.
    static func invalidArgument(_ message: String, field: String) -> FCMError {
        FCMError(400, "INVALID_ARGUMENT", message, code: "INVALID_ARGUMENT", violation: (field, message))
    }

    /// Apple did not take it from Google.
    static func refusedByApple(_ reason: APNsReason) -> FCMError {
        FCMError(
            400, "INVALID_ARGUMENT", "Request contains an invalid argument.", code: "INVALID_ARGUMENT", apple: reason)
    }

    static var invalidToken: FCMError {
        FCMError(
            400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
            code: "INVALID_ARGUMENT")
    }
    static var tooLarge: FCMError { FCMError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.") }
    static var unregistered: FCMError {
        FCMError(404, "NOT_FOUND", "Requested entity was not found.", code: "UNREGISTERED")
    }
    static var senderMismatch: FCMError {
        FCMError(403, "PERMISSION_DENIED", "SenderId mismatch", code: "SENDER_ID_MISMATCH")
    }
    static var quota: FCMError {
        FCMError(429, "RESOURCE_EXHAUSTED", "Message rate exceeded", code: "QUOTA_EXCEEDED")
    }
    static var unavailable: FCMError {
        FCMError(503, "UNAVAILABLE", "The service is currently unavailable.", code: "UNAVAILABLE")
    }
    static var `internal`: FCMError { FCMError(500, "INTERNAL", "Internal error encountered.", code: "INTERNAL") }
    static var thirdParty: FCMError {
        FCMError(
            401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", code: "THIRD_PARTY_AUTH_ERROR")
    }
    static var unauthenticated: FCMError {
        let text =
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
            + "other valid authentication credential."
        return FCMError(401, "UNAUTHENTICATED", text)
    }

    /// What a script asks for by status, reason or both.
    static func scripted(status: Int?, reason: String?) -> ProviderAnswer {
        guard status != 502 else {
            // What Google's front end sends when nothing behind it answers.
            return ProviderAnswer(
                status: 502, reason: reason ?? "Bad Gateway",
                headers: [.init("content-type", "text/html; charset=UTF-8")],
                body: Array("<html><title>Error 502 (Server Error)!!1</title></html>".utf8))
        }
        guard let reason else { return usual(for: status ?? 400).answer }
        var error = named(reason) ?? FCMError(400, usual(for: status ?? 400).status, reason, code: reason)
        if let status { error.http = status }
        return error.answer
    }

    /// The error that a status most often has. One that Google does not send says nothing of the token.
    private static func usual(for status: Int) -> FCMError {
        switch status {
        case 400: invalidToken
        case 401: unauthenticated
        case 403: senderMismatch
        case 404: unregistered
        case 429: quota
        case 500: `internal`
        case 503: unavailable
        case 504: FCMError(504, "DEADLINE_EXCEEDED", "Deadline exceeded.")
        case 505...: FCMError(status, "UNAVAILABLE", "The service is currently unavailable.")
        default: FCMError(status, "INVALID_ARGUMENT", "Request contains an invalid argument.")
        }
    }

    /// The error behind a word of a script; nil when Google has none of that name.
    static func named(_ reason: String) -> FCMError? {
        switch reason {
        case "INVALID_ARGUMENT": invalidToken
        case "UNREGISTERED", "NOT_FOUND": unregistered
        case "SENDER_ID_MISMATCH": senderMismatch
        case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED": quota
        case "UNAVAILABLE": unavailable
        case "INTERNAL": `internal`
        case "THIRD_PARTY_AUTH_ERROR": thirdParty
        case "UNAUTHENTICATED": unauthenticated
        case "UNSPECIFIED_ERROR":
            FCMError(500, "UNKNOWN", "No more information is available about this error.", code: "UNSPECIFIED_ERROR")
        case "PERMISSION_DENIED":
            FCMError(403, "PERMISSION_DENIED", "The caller does not have permission")
        default: nil
        }
    }
}
