// SPDX-License-Identifier: MIT

/// Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
public enum RetryAfter {
    /// Longer waits are not believed.
    private static let longest: Int64 = 86_400_000

    /// Milliseconds to wait; nil when the field is missing or means nothing. `now` in seconds since 1970.
    public static func milliseconds(_ response: HTTPResponse, now: Int64) -> Int64? {
        guard let text = response["retry-after"] else { return nil }
        if let seconds = UInt32(text) { return min(Int64(seconds) * 1000, longest) }
        guard let date = seconds(ofDate: text, now: now) else { return nil }
        return min(max(date - now, 0) * 1000, longest)
    }

    /// Seconds since 1970 of a date in any of the three forms that a recipient must read (RFC 9110, 5.6.7); nil for
    /// anything else.
    ///
    ///     Sun, 06 Nov 1994 08:49:37 GMT
    ///     Sunday, 06-Nov-94 08:49:37 GMT
    ///     Sun Nov  6 08:49:37 1994
    static func seconds(ofDate text: String, now: Int64) -> Int64? {
        let parts = text.split(separator: " ")
        if parts.count == 6, parts[5] == "GMT", parts[0].utf8.count == 4 {
            return seconds(year: fullYear(parts[3]), month: parts[2], day: parts[1], clock: parts[4])
        }
        if parts.count == 4, parts[3] == "GMT", parts[0].last == "," {
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, let year = Int64(date[2]), (0...99).contains(year), date[2].utf8.count == 2 else {
                return nil
            }
            // The century that puts it no more than 50 years ahead.
            let current = CivilDate.from(daysSince1970: now / 86_400).year
            var full = current - current % 100 + year
            if full > current + 50 { full -= 100 }
            if full <= current - 50 { full += 100 }
            return seconds(year: max(full, 1970), month: date[1], day: date[0], clock: parts[2])
        }
        if parts.count == 5, parts[0].utf8.count == 3 {
            return seconds(year: fullYear(parts[4]), month: parts[1], day: parts[2], clock: parts[3])
        }
        return nil
    }

    private static func fullYear(_ text: Substring) -> Int64? {
        guard let year = Int64(text), (1970...9999).contains(year) else { return nil }
        return year
    }

    private static func seconds(year: Int64?, month: Substring, day: Substring, clock: Substring) -> Int64? {
        guard let year, let day = Int64(day), (1...31).contains(day),
            let monthIndex = months.firstIndex(where: { $0 == month })
        else { return nil }
        let clock = clock.split(separator: ":", omittingEmptySubsequences: false)
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
