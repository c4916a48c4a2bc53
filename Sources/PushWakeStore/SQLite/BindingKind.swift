// SPDX-License-Identifier: MIT

import PushWakeCore

extension Binding {
    /// What every format keeps in one byte: bit 0 for a phone that refreshes by itself, above it the number of its flow.
    /// Earlier releases write and read bit 0 alone.
    var flags: UInt8 {
        get { (refreshesItself ? 1 : 0) | flowNumber &<< 1 }
        set { (refreshesItself, flowNumber) = (newValue & 1 != 0, newValue &>> 1) }
    }
}

/// What the bindings of one app have in common.
struct BindingKind {
    let provider: Provider
    let environment: Environment
    let service: TokenUse?
    let dialect: Dialect
    let app: String
    let team: String

    init(of binding: Binding) {
        provider = binding.provider
        environment = binding.environment
        service = binding.service
        dialect = binding.dialect
        app = binding.app
        team = binding.team
    }

    /// Nil when a number stands for nothing this release knows.
    init?(provider: Int64, environment: Int64, service: Int64, dialect: Int64, app: String, team: String) {
        guard let provider = UInt8(exactly: provider).flatMap(Provider.init(rawValue:)),
            let environment = UInt8(exactly: environment).flatMap(Environment.init(rawValue:)),
            let dialect = UInt8(exactly: dialect).flatMap(Dialect.init(rawValue:)),
            let serviceNumber = UInt8(exactly: service)
        else { return nil }
        let service = TokenUse(rawValue: serviceNumber)
        guard service != nil || serviceNumber == 0 else { return nil }
        self.provider = provider
        self.environment = environment
        self.service = service
        self.dialect = dialect
        self.app = app
        self.team = team
    }

    /// The same for `numbers` as bytes; nil also when they are not four.
    init?(numbers: Span<UInt8>, app: String, team: String) {
        guard numbers.count == 4 else { return nil }
        self.init(
            provider: Int64(numbers[0]), environment: Int64(numbers[1]), service: Int64(numbers[2]),
            dialect: Int64(numbers[3]), app: app, team: team)
    }

    /// Numbers in the order of the columns.
    var numbers: [UInt8] { [provider.rawValue, environment.rawValue, service?.rawValue ?? 0, dialect.rawValue] }

    /// The same bytes tell them.
    func isSame(as other: BindingKind) -> Bool {
        provider == other.provider && environment == other.environment && service == other.service
            && dialect == other.dialect && app.isSameBytes(as: other.app) && team.isSameBytes(as: other.team)
    }

    /// Bytes that tell kinds apart.
    var key: [UInt8] { numbers + app.utf8 + [0] + team.utf8 }
}

/// The table `kinds`, with what was read of it in memory.
///
/// Phones choose the name of their app, so the table has a bound: past it, rows carry their kind themselves.
final class BindingKindTable {
    /// Rows that the table may have.
    static let limit: Int64 = 4096
    /// The id that says "this row carries its kind itself".
    static let inline: Int64 = 0

    private let database: SQLiteDatabase
    private var ids: [[UInt8]: Int64] = [:]
    private var kinds: [Int64: BindingKind] = [:]
    /// The one that was asked for last.
    private var last: (kind: BindingKind, id: Int64)?

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Drops what a transaction that failed may have put in.
    func refresh() {
        ids = [:]
        kinds = [:]
        last = nil
    }

    /// The id of `kind`, stored when it is new; `inline` when the table is full.
    func id(of kind: BindingKind) throws(StoreError) -> Int64 {
        // Most phones of a file have one app.
        if let last, last.kind.isSame(as: kind) { return last.id }
        let id = try knownOrNew(kind)
        if id != Self.inline { last = (kind, id) }
        return id
    }

    private func knownOrNew(_ kind: BindingKind) throws(StoreError) -> Int64 {
        let key = kind.key
        if let known = ids[key] { return known }
        var id = try find(kind)
        if id == nil { id = try insert(kind) }
        guard let id, id != Self.inline else { return Self.inline }
        ids[key] = id
        kinds[id] = kind
        return id
    }

    /// The kind with this id; nil when there is none, which means that the file is damaged.
    func kind(_ id: Int64) throws(StoreError) -> BindingKind? {
        if let known = kinds[id] { return known }
        let query = try database.statement(
            "SELECT provider, environment, service, dialect, app, team FROM kinds WHERE id = ?")
        defer { query.reset() }
        try query.bind(1, id)
        guard try query.step() else { return nil }
        let kind = BindingKind(
            provider: query.number(0), environment: query.number(1), service: query.number(2),
            dialect: query.number(3), app: query.text(4), team: query.text(5))
        kinds[id] = kind
        return kind
    }

    private func find(_ kind: BindingKind) throws(StoreError) -> Int64? {
        let query = try database.statement(
            """
            SELECT id FROM kinds
            WHERE app = ? AND team = ? AND provider = ? AND environment = ? AND service = ? AND dialect = ?
            """)
        defer { query.reset() }
        try bind(kind, to: query)
        return try query.step() ? query.number(0) : nil
    }

    private func insert(_ kind: BindingKind) throws(StoreError) -> Int64 {
        // A file may hold any number.
        let last = max(try database.number("SELECT max(id) FROM kinds") ?? 0, 0)
        guard last < Self.limit else { return Self.inline }
        let next = last + 1
        let insertion = try database.statement(
            "INSERT INTO kinds(app, team, provider, environment, service, dialect, id) VALUES(?, ?, ?, ?, ?, ?, ?)")
        defer { insertion.reset() }
        try bind(kind, to: insertion)
        try insertion.bind(7, next)
        try insertion.run()
        return next
    }

    private func bind(_ kind: BindingKind, to statement: SQLiteStatement) throws(StoreError) {
        try statement.bind(1, kind.app)
        try statement.bind(2, kind.team)
        for (index, number) in kind.numbers.enumerated() { try statement.bind(Int32(3 + index), Int64(number)) }
    }
}
