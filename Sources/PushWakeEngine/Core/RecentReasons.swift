// SPDX-License-Identifier: MIT

/// Why something failed last, by what it was. It keeps so many, and begins anew when there are more: whoever may send
/// what fails may not fill the memory.
struct RecentReasons<Subject: Hashable> {
    static var most: Int { 4096 }

    private var reasons: [Subject: String] = [:]

    /// The reason that is kept; nil for none.
    func reason(of subject: Subject) -> String? { reasons.isEmpty ? nil : reasons[subject] }

    mutating func note(_ reason: String, of subject: Subject) {
        if reasons.count >= Self.most { reasons = [:] }
        reasons[subject] = reason
    }

    /// It works now.
    mutating func forget(_ subject: Subject) {
        if !reasons.isEmpty { reasons[subject] = nil }
    }
}
