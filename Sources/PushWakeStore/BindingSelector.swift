// SPDX-License-Identifier: MIT

public import PushWakeCore

/// Which bindings of a user are meant.
public enum BindingSelector: Equatable, Sendable {
    case all
    /// Exactly this token.
    case token(provider: Provider, app: String, token: String)
    /// All tokens of one device: the same instance; when either side has none, the same contact
    /// (push parameters aside) or the same Call-ID. Empty texts match nothing.
    case device(instance: String, contact: String, callID: String)
}
