// SPDX-License-Identifier: MIT

import PushWakeCore

/// Rows of the table `bindings` by the second in which their registrations end, for who asks phones to register before.
///
/// It is in memory: in the table each REGISTER would have to move its row in an index, and times are in a file beside it.
/// A row stands at an end that it had, not after the one that it has. Who comes to that second finds the new end in the row,
/// and puts it there. So a refresh costs nothing here, and each row is looked at once in the life of a registration. 8 to
/// 16 bytes for each row.
struct EndCalendar {
    /// By second; the same row may stand several times.
    private var rows: [Int64: [Int64]] = [:]
    /// Nothing is left before it.
    private var first = Int64.max
    /// All up to here have been visited, and are no longer found.
    private(set) var reached = ExpiryCursor(time: .min)

    /// Notes when a registration ends; not if that second is over, or none of this clock.
    mutating func note(_ id: Int64, end: Int64) {
        guard end >= max(reached.time, 0) else { return }
        rows[end, default: []].append(id)
        first = min(first, end)
    }

    /// Notes a REGISTER that changes nothing but times: only where the row would not be found in time.
    mutating func note(_ id: Int64, end: Int64, insteadOf old: Int64) {
        if old <= reached.time || end < old { note(id, end: end) }
    }

    /// The places after `cursor` and up to `end`, in their order and each once; at most `limit`. What is before the cursor
    /// goes.
    mutating func places(after cursor: ExpiryCursor, by end: Int64, limit: Int) -> [ExpiryCursor] {
        drop(before: cursor.time)
        var places: [ExpiryCursor] = []
        var time = max(first, cursor.time)
        while time <= min(end, .max - 1), places.count < limit {
            if let ids = rows[time] {
                let sorted = Set(ids).sorted()
                rows[time] = sorted
                for id in sorted where places.count < limit {
                    let place = ExpiryCursor(time: time, row: id)
                    if place > cursor { places.append(place) }
                }
            }
            time += 1
        }
        reached = places.count < limit ? ExpiryCursor(time: end) : places.last ?? cursor
        return places
    }

    private mutating func drop(before time: Int64) {
        guard first < time else { return }
        // The clock may have been set forward.
        if time - first > Int64(rows.count) {
            rows = rows.filter { $0.key >= time }
        } else {
            for second in first..<time { rows[second] = nil }
        }
        first = rows.isEmpty ? .max : time
    }
}
