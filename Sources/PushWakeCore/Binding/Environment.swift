// SPDX-License-Identifier: MIT

/// Which of a provider's two worlds a token belongs to.
public enum Environment: UInt8, Sendable, CaseIterable {
    /// As the settings say.
    case standard = 0
    case production = 1
    case sandbox = 2

    /// Says whether it is the sandbox, when the settings say so of `standard` or not.
    public func isSandbox(ifStandard standard: Bool) -> Bool {
        switch self {
        case .standard: standard
        case .production: false
        case .sandbox: true
        }
    }

    /// The name in JSON: `default`, `production` or `sandbox`.
    public var name: String {
        switch self {
        case .standard: "default"
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }
}
