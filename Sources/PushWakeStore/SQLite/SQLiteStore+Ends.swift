// SPDX-License-Identifier: MIT

import PushWakeCore

/// Which registrations end when. What is not yet known of a file is read from it some rows at a time, and nobody waits.
struct RegistrationEnds {
    /// Of phones that refresh by themselves, and of the others.
    private var calendars = [EndCalendar(), EndCalendar()]
    /// All rows before this one are known; nil when all are.
    var walkedTo: Int64? = 0

    subscript(refreshingThemselves: Bool) -> EndCalendar {
        _read { yield calendars[refreshingThemselves ? 1 : 0] }
        _modify { yield &calendars[refreshingThemselves ? 1 : 0] }
    }
}

extension SQLiteStore {
    /// Places that are looked at for each binding that may be found: phones have refreshed, as a rule.
    private static let placesPerBinding = 10
    /// Seconds by which a clock may be set back before all is read again.
    private static let clockTolerance: Int64 = 60

    /// A row was written.
    func noteEnd(of binding: Binding, id: Int64) {
        ends?[binding.refreshesItself].note(id, end: binding.expiresAt)
    }

    /// Nothing but times of a row changed.
    func noteEnd(of binding: Binding, id: Int64, insteadOf old: Int64) {
        ends?[binding.refreshesItself].note(id, end: binding.expiresAt, insteadOf: old)
    }

    /// Reads when the registrations of some more rows end; true when all are known.
    public func learnEnds(limit: Int) throws(StoreError) -> Bool {
        guard let start = ends?.walkedTo else { return true }
        let query = try database.statement(
            "SELECT id, \(Self.baseColumns), flags FROM bindings WHERE id >= ? ORDER BY id LIMIT ?")
        defer { query.reset() }
        try query.bind(1, start)
        try query.bind(2, Int64(limit))
        var (count, last) = (0, start)
        while try query.step() {
            let row = (id: query.number(0), base: base(query, at: 1))
            let end = newestTimes(of: row)?.expiresAt ?? query.number(1).addingSaturating(query.number(3))
            ends?[query.number(4) & 1 == 1].note(row.id, end: end)
            (count, last) = (count + 1, row.id)
        }
        ends?.walkedTo = count < limit ? nil : last.addingSaturating(1)
        return count < limit
    }

    /// Others write to the file: what they have registered is found by another walk.
    func learnEndsAgain() { ends?.walkedTo = 0 }

    /// Finds registrations that end soon, of those that are known.
    public func ending(
        after cursor: ExpiryCursor, by end: Int64, refreshingThemselves: Bool, limit: Int
    ) throws(StoreError) -> EndingPage {
        var page = EndingPage(reached: ExpiryCursor(time: end))
        // Without the index of users each row would cost a look at all of them.
        guard limit > 0, let reached = ends?[refreshingThemselves].reached, lacksTokens == nil else { return page }
        if end < reached.time.addingSaturating(-Self.clockTolerance) { ends = RegistrationEnds() }
        let most = limit * Self.placesPerBinding
        let places = ends?[refreshingThemselves].places(after: cursor, by: end, limit: most) ?? []
        if places.count == most, let last = places.last { page.reached = last }
        for place in places {
            guard let binding = try binding(ofRow: place.row), binding.refreshesItself == refreshingThemselves,
                binding.expiresAt >= place.time
            else { continue }
            guard binding.expiresAt <= end else {
                ends?[refreshingThemselves].note(place.row, end: binding.expiresAt)
                continue
            }
            page.found.append(EndingBinding(binding: binding, cursor: place))
            guard page.found.count < limit else {
                page.reached = place
                break
            }
        }
        return page
    }

    /// Nil where there is none, or none that can be read.
    private func binding(ofRow id: Int64) throws(StoreError) -> Binding? {
        let query = try database.statement(
            "SELECT \(BindingRow.columns), aor FROM bindings CROSS JOIN users ON uid = id >> 8 WHERE id = ?")
        defer { query.reset() }
        try query.bind(1, id)
        guard try query.step(), let row = try read(query, aor: query.text(BindingRow.end)) else { return nil }
        var rows = [row]
        renew(&rows)
        return rows[0].binding
    }
}
