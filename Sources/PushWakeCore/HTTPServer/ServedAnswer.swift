// SPDX-License-Identifier: MIT

/// What the engine's HTTP listener answers.
public struct ServedAnswer: Equatable, Sendable {
    public var status: Int
    /// Names in lower case; length, date and connection are the listener's own.
    public var headers: [HTTPResponse.Header]
    public var body: [UInt8]

    /// Fields that every answer has: nothing is kept by caches, guessed, framed, or told to other sites.
    public static let commonHeaders: [HTTPResponse.Header] = [
        .init(name: "cache-control", value: "no-store"),
        .init(name: "x-content-type-options", value: "nosniff"),
        .init(name: "referrer-policy", value: "no-referrer"),
        .init(name: "content-security-policy", value: "default-src 'none'; frame-ancestors 'none'"),
    ]

    /// Takes a body under a media type; an empty type stands for no body.
    public init(_ status: Int, type: String = "", body: [UInt8] = [], headers: [HTTPResponse.Header] = []) {
        self.status = status
        self.body = body
        self.headers = (type.isEmpty ? [] : [.init(name: "content-type", value: type)]) + headers
    }

    /// Plain text.
    public static func text(_ status: Int, _ text: String) -> ServedAnswer {
        ServedAnswer(status, type: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
    }

    /// JSON, one object whose members `fill` writes.
    public static func json(_ status: Int, _ fill: (inout JSONWriter) -> Void) -> ServedAnswer {
        var writer = JSONWriter()
        writer.object(fill)
        return ServedAnswer(status, type: "application/json", body: writer.bytes + [ASCII.lineFeed])
    }

    /// What is wrong and what to do: `{"error": "…"}`.
    public static func problem(_ status: Int, _ text: String) -> ServedAnswer {
        json(status) { writer in
            writer.name("error")
            writer.string(text)
        }
    }

    /// The head for HTTP/1.1 (RFC 9112, 4); `date` in seconds since 1970. `isOpenEnded`: the body's length is not known.
    public func head(keepsOpen: Bool, isOpenEnded: Bool = false, date: Int64) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for header in fields(isOpenEnded: isOpenEnded, date: date) { text += "\(header.name): \(header.value)\r\n" }
        if !keepsOpen { text += "connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// All fields, the common ones unless the answer has its own.
    public func fields(isOpenEnded: Bool = false, date: Int64) -> [HTTPResponse.Header] {
        var all = headers
        for common in Self.commonHeaders where !headers.contains(where: { $0.name == common.name }) {
            all.append(common)
        }
        all.append(.init(name: "date", value: HTTPDate.text(date)))
        if status != 204, !isOpenEnded { all.append(.init(name: "content-length", value: String(body.count))) }
        return all
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "-"
        }
    }
}

/// A time as HTTP writes it (RFC 9110, 5.6.7).
public enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT` for seconds since 1970; times outside of 1970 to 9999 are cut to it.
    public static func text(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, 0), 253_402_300_799)
        let day = seconds / 86_400
        let time = seconds % 86_400
        // Days of the Gregorian calendar from a year that begins in March.
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let date = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return
            "\(days[Int(day % 7)]), \(two(date)) \(months[Int(month) - 1]) \(year) \(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }
}
