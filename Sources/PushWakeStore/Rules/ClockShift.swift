// SPDX-License-Identifier: MIT

import PushWakeCore

/// What a jump of the wall clock does to bindings: time has not passed, so what was valid stays valid for as long.
///
/// Forward, that is what was registered by the old clock and would be over by the new one; backward, what is from the
/// future by the new one. What another clock has stamped before, and is over by the right one, stays over.
struct ClockShift {
    let old: Int64
    let new: Int64

    init(from old: Int64, to new: Int64) { (self.old, self.new) = (old, new) }

    /// Seconds to add to times.
    var seconds: Int64 { new.subtractingReportingOverflow(old).partialValue }

    /// Condition of a row, with `old` as ?1 and `new` as ?2.
    static let condition = """
        CASE WHEN ?2 > ?1 THEN registered_at <= ?1 AND forget_at > ?1 AND forget_at <= ?2 ELSE registered_at > ?2 END
        """

    /// The same of a binding.
    func concerns(_ binding: Binding) -> Bool {
        new > old
            ? binding.registeredAt <= old && binding.forgetAt > old && binding.forgetAt <= new
            : binding.registeredAt > new
    }

    func apply(to binding: inout Binding) {
        binding.registeredAt = binding.registeredAt.addingSaturating(seconds)
        binding.expiresAt = binding.expiresAt.addingSaturating(seconds)
        binding.forgetAt = binding.forgetAt.addingSaturating(seconds)
    }
}
