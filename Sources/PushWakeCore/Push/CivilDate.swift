// SPDX-License-Identifier: MIT

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
