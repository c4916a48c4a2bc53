// SPDX-License-Identifier: MIT

/// Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
public enum RetryAfter {
    /// Longer waits are not believed.
    private static let longest: Int64 = 86_400_000

    /// Milliseconds to wait; nil when the field is missing or means nothing. `now` in seconds since 1970.
    public static func milliseconds(_ response: HTTPResponse, now: Int64) -> Int64? {
        guard let text = response["retry-after"] else { return nil }
        if let seconds = UInt32(text) { return min(Int64(seconds) * 1000, longest) }
        guard let date = seconds(ofDate: text) else { return nil }
        return min(max(date - now, 0) * 1000, longest)
    }

    /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate); nil for any other form.
    static func seconds(ofDate text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[0].utf8.count == 4,
            let day = Int64(parts[1]), (1...31).contains(day),
            let monthIndex = months.firstIndex(where: { $0 == parts[2] }),
            let year = Int64(parts[3]), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = Int64(clock[0]), (0...23).contains(hour),
            let minute = Int64(clock[1]), (0...59).contains(minute),
            let second = Int64(clock[2]), (0...60).contains(second)
        else { return nil }
        let days = CivilDate.daysSince1970(year: year, month: Int64(monthIndex) + 1, day: day)
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
