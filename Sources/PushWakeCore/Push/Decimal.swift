// SPDX-License-Identifier: MIT

/// Writes numbers and times as ASCII, without a `String` in between.
public enum Decimal {
    /// Appends an integer in base ten.
    static func append(_ value: Int64, to out: inout [UInt8]) {
        if value < 0 { out.append(UInt8(ascii: "-")) }
        append(value.magnitude, to: &out)
    }

    /// Appends an unsigned integer in base ten.
    public static func append(_ value: UInt64, to out: inout [UInt8]) {
        out.append(addingCapacity: 20) { (end: inout OutputSpan<UInt8>) in
            var digits = InlineArray<20, UInt8>(repeating: 0)
            var first = 20
            var rest = value
            repeat {
                first &-= 1
                digits[first] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            for index in first..<20 { end.append(digits[index]) }
        }
    }

    /// Appends exactly `width` digits, the lowest ones of `value`.
    static func append(_ value: Int64, width: Int, to out: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            out.append(0x30 &+ UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends `YYYY-MM-DD HH:MM:SS` in UTC, the form of Flexisip's `send-time`; the years 1970 to 9999.
    static func appendDate(_ secondsSince1970: Int64, to out: inout [UInt8]) {
        let seconds = min(max(secondsSince1970, 0), 253_402_300_799)
        let (year, month, day) = CivilDate.from(daysSince1970: seconds / 86_400)
        let rest = seconds % 86_400
        append(year, width: 4, to: &out)
        out.append(UInt8(ascii: "-"))
        append(month, width: 2, to: &out)
        out.append(UInt8(ascii: "-"))
        append(day, width: 2, to: &out)
        out.append(UInt8(ascii: " "))
        append(rest / 3600, width: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        append(rest / 60 % 60, width: 2, to: &out)
        out.append(UInt8(ascii: ":"))
        append(rest % 60, width: 2, to: &out)
    }
}
