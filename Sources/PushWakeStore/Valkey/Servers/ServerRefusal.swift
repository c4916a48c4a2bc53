// SPDX-License-Identifier: MIT

/// What a server says instead of doing what it was asked (errors of RESP), and whether it says so to everybody.
struct ServerRefusal {
    /// Words about one key or one command: the next may fare better.
    private static let aboutOne: Set<String> = ["WRONGTYPE", "ERR"]

    /// Why it takes no changes; nil while it does.
    private(set) var error: StoreError?
    private var word = ""

    /// What an error of a server means; `isNew` when it did not say the same before.
    mutating func note(_ text: String, from server: String) -> (error: StoreError, isNew: Bool) {
        let said = String(text.prefix { $0 != " " })
        let full = "\(server): \(text)"
        let failure: StoreError = said == "OOM" ? .full(full) : .unusable(full)
        if !Self.aboutOne.contains(said) { error = failure }
        defer { word = said }
        return (failure, said != word)
    }

    /// It has taken a change.
    mutating func end() { self = ServerRefusal() }
}
