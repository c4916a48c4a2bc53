// SPDX-License-Identifier: MIT

/// Finds out whether a name that a node goes by is another's, too. Pure.
///
/// Each node says again and again under its name that it is there, and reads what was said there last. What somebody else
/// said before a node's first word may be its own, from before it was started anew; what stands between two of its words is
/// another's. An engine that is being replaced overlaps with the next one, so once is not enough.
struct NameWatch {
    /// How often in a row somebody else has to have spoken in between.
    static let proof = 2

    let name: String
    /// Another node goes by this name.
    private(set) var isShared = false
    private var hasSpoken = false
    private var strangers = 0

    init(name: String) { self.name = name }

    /// The node has spoken, and who spoke before it was itself or not; nil: nobody, for longer than words are kept.
    /// Whether something has become known that was not.
    mutating func spoke(afterItself isOwn: Bool?) -> Bool {
        defer { hasSpoken = true }
        strangers = isOwn == false && hasSpoken ? strangers + 1 : 0
        let was = isShared
        isShared = strangers >= Self.proof
        return was != isShared
    }
}
