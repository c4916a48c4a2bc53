// SPDX-License-Identifier: MIT

/// Which time of day a moment of this machine was, in its zone.
public struct PageClock: Equatable, Sendable {
    /// One moment as both clocks have it: monotonic milliseconds, and seconds since 1970.
    let now: Int64
    private let wall: Int64
    /// Seconds east of Greenwich.
    private let offset: Int64
    /// Its name, such as `CET`.
    public let zone: String

    /// The same moment by both clocks, and the zone.
    public init(now: Int64, wall: Int64, offset: Int64 = 0, zone: String = "UTC") {
        (self.now, self.wall, self.offset, self.zone) = (now, wall, offset, zone)
    }

    /// `14:03:09`, with the day before it where that is another than today's.
    func time(_ moment: Int64) -> String {
        let local = local(moment)
        let date = CivilDate.from(daysSince1970: local / 86_400)
        let day = local / 86_400 == self.local(now) / 86_400 ? "" : "\(date.year)-\(two(date.month))-\(two(date.day)) "
        return day + clock(local)
    }

    /// `2026-11-28 14:03:09 CET`.
    func full(_ moment: Int64) -> String { "\(stamp(moment, " ")) \(zone)" }

    /// As `<time>` takes it (HTML, 2.3.5.6), in the zone.
    func machine(_ moment: Int64) -> String {
        let minutes = abs(offset) / 60
        return "\(stamp(moment, "T"))\(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }

    /// How long ago it was, in words.
    func ago(_ moment: Int64) -> String { "\(UserDiagnosis.time(max(0, now &- moment) / 1000)) ago" }

    private func stamp(_ moment: Int64, _ gap: String) -> String {
        let local = local(moment)
        let date = CivilDate.from(daysSince1970: local / 86_400)
        return "\(date.year)-\(two(date.month))-\(two(date.day))\(gap)\(clock(local))"
    }

    private func local(_ moment: Int64) -> Int64 { max(0, wall &+ (moment &- now) / 1000 &+ offset) }

    private func clock(_ local: Int64) -> String {
        "\(two(local / 3600 % 24)):\(two(local / 60 % 60)):\(two(local % 60))"
    }

    private func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
