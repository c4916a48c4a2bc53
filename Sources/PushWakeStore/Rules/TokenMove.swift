// SPDX-License-Identifier: MIT

public import PushWakeCore

/// When a token that comes in for one user leaves another who has it: somebody has logged out of one account and into
/// another on the same phone, and the first was never un-REGISTERed.
///
/// Pure. Asked for tokens alone that are new to their user: phones with several accounts refresh all of them with one token
/// and one instance.
public enum TokenMove: String, Sendable, CaseIterable {
    case never
    /// When the same phone has let the other account's registration end. A phone that adds an account has just registered
    /// those that it has, and one that sleeps adds none.
    case instance
    /// Phones have one account.
    case always

    /// Takes what the operator set.
    public init(_ settings: Settings) { self = TokenMove(rawValue: settings.text(.oneAoRPerToken)) ?? .never }

    /// Whether anything may go for a binding: without an instance, nobody knows whose phone it is.
    public func concerns(_ new: Binding) -> Bool {
        switch self {
        case .never: false
        case .instance: !new.instance.isEmpty
        case .always: true
        }
    }

    /// Whether `old` goes, now that `new` was stored for another user.
    public func takes(_ old: Binding, for new: Binding, now: Int64) -> Bool {
        guard concerns(new), old.hasSameToken(as: new), !old.aor.isSameBytes(as: new.aor) else { return false }
        guard self == .instance else { return true }
        return old.instance.isSameBytes(as: new.instance)
            // The app tells its accounts apart by it.
            && old.attributes[.selector] == new.attributes[.selector]
            // A token that was reported without a REGISTER has no registration that could end.
            && !old.callID.isEmpty && old.expiresAt <= now
    }
}
