// SPDX-License-Identifier: MIT

internal import PushWakeBytes

/// Notices when the wall clock is put right: a machine without a battery begins in another year, and what is registered
/// before it has asked for the time must not be over the moment it has.
public struct WallClock: Equatable, Sendable {
    /// A jump of the clock.
    public struct Jump: Equatable, Sendable {
        /// What the clock would say without it, seconds since 1970.
        public let old: Int64
        public let new: Int64

        /// This jump and an earlier one that nobody was told of, as one.
        public func following(_ earlier: Jump) -> Jump {
            Jump(old: earlier.old &+ (old &- earlier.new), new: new)
        }
    }

    /// Shorter jumps are the clock's own business, seconds.
    public static let least: Int64 = 86_400

    private var offset: Int64

    /// `wall` in seconds since 1970, `running` in seconds since the machine started, sleep included.
    public init(wall: Int64, running: Int64) { offset = wall &- running }

    /// Looks at both clocks; a jump is told once. The slow ways in which one is kept right are none.
    public mutating func look(wall: Int64, running: Int64) -> Jump? {
        let current = wall &- running
        let before = offset
        offset = current
        guard (current &- before).magnitude > Self.least.magnitude else { return nil }
        return Jump(old: running &+ before, new: wall)
    }
}

/// Days since 1970 and the Gregorian calendar, both ways.
///
/// Counts in eras of 400 years that begin on 1 March, so that a leap day is the last day of its year.
enum CivilDate {
    private static let daysPerEra: Int64 = 146_097
    /// Days from 1 March of the year 0 to 1 January 1970.
    private static let epochShift: Int64 = 719_468

    /// The date of a day; `daysSince1970` must not be negative.
    static func from(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = max(days, 0) + epochShift
        let era = shifted / daysPerEra
        let dayOfEra = shifted % daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// The day of a date; years 1970 to 9999, month 1 to 12.
    static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * daysPerEra + dayOfEra - epochShift
    }
}

/// Writes numbers and times as ASCII, without a `String` in between.
public enum Decimal {
    /// Appends an integer in base ten.
    static func append(_ value: Int64, to out: inout [UInt8]) {
        if value < 0 { out.append(UInt8(ascii: "-")) }
        append(value.magnitude, to: &out)
    }

    /// Appends an unsigned integer in base ten.
    public static func append(_ value: UInt64, to out: inout [UInt8]) {
        if value < 10 { return out.append(0x30 &+ UInt8(truncatingIfNeeded: value)) }
        out.append(addingCapacity: room) { (end: inout OutputSpan<UInt8>) in append(value, to: &end) }
    }

    /// Free bytes without which no digits are written: for whole words behind the last ones.
    private static let digitRoom = 32
    /// Free bytes without which a number is not written, its sign among them.
    static let room = digitRoom + 1

    /// Appends an integer in base ten; leaves no room where there was too little.
    static func append(_ value: Int64, to end: inout OutputSpan<UInt8>) {
        if value < 0 { end.append(ifRoom: UInt8(ascii: "-")) }
        append(value.magnitude, to: &end)
    }

    /// The same for an unsigned integer.
    static func append(_ value: UInt64, to end: inout OutputSpan<UInt8>) {
        if value < 10 { return end.append(ifRoom: 0x30 &+ UInt8(truncatingIfNeeded: value)) }
        guard end.freeCapacity >= digitRoom else { return end.fill() }
        if value < 100_000_000 { return append(eight: value, isFirst: true, to: &end) }
        let (upper, last) = value.quotientAndRemainder(dividingBy: 100_000_000)
        // As the seconds since 1970 are.
        if upper < 100 {
            let tens = upper / 10
            let digits = (0x30 &+ tens) | (0x30 &+ upper &- tens &* 10) << 8
            end.append(lowest: tens > 0 ? 2 : 1, of: tens > 0 ? digits : digits >> 8)
            return append(eight: last, isFirst: false, to: &end)
        }
        let (high, middle) = upper.quotientAndRemainder(dividingBy: 100_000_000)
        if high > 0 { append(eight: high, isFirst: true, to: &end) }
        append(eight: middle, isFirst: high == 0, to: &end)
        append(eight: last, isFirst: false, to: &end)
    }

    /// Appends eight digits; the first ones without leading zeros.
    @inline(__always)
    private static func append(eight value: UInt64, isFirst: Bool, to end: inout OutputSpan<UInt8>) {
        // Halves, then pairs, then digits, all at once: the first digit comes to lie in the lowest byte.
        let halves = value / 10_000 | (value % 10_000) << 32
        let hundreds = ((halves &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let pairs = hundreds | (halves &- hundreds &* 100) << 16
        let tens = ((pairs &* 103) >> 10) & 0x000F_000F_000F_000F
        let digits = tens | (pairs &- tens &* 10) << 8
        let zeros = isFirst ? min(digits.trailingZeroBitCount >> 3, 7) : 0
        end.append(lowest: 8 &- zeros, of: (digits | 0x3030_3030_3030_3030) >> UInt64(zeros &* 8))
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
