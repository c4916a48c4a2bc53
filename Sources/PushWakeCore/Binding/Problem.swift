// SPDX-License-Identifier: MIT

/// Something in a REGISTER that cannot be used, and what to do about it.
public struct Problem: Error, Equatable, Sendable {
    /// Kinds of problems; the raw values are stable and meant for machines.
    public enum Code: String, Sendable, CaseIterable {
        case badEscape = "bad-escape"
        case controlByte = "control-byte"
        case badEncoding = "bad-encoding"
        case duplicateParameter = "duplicate-parameter"
        case missingParameter = "missing-parameter"
        case unknownProvider = "unknown-provider"
        case badToken = "bad-token"
        case badApp = "bad-app"
        case badURL = "bad-url"
        case badNumber = "bad-number"
        case badCredential = "bad-credential"
        case badServer = "bad-server"
        case tooLong = "too-long"
        case serviceMismatch = "service-mismatch"
        case unusedParameter = "unused-parameter"
        case foreignParameter = "foreign-parameter"
        case unescapedCharacter = "unescaped-character"
        case malformedContact = "malformed-contact"
        case malformedHeader = "malformed-header"
        case tooManyContacts = "too-many-contacts"
        case missingContact = "missing-contact"
        case notSIP = "not-sip"
        case notRegister = "not-register"
    }

    /// Which kind of problem it is.
    public var code: Code
    /// The parameter or header, under its usual name.
    public var parameter: String
    /// What is wrong and the remedy; never holds a token or a secret.
    public var message: String

    /// States a problem.
    public init(_ code: Code, _ parameter: String, _ message: String) {
        self.code = code
        self.parameter = parameter
        self.message = message
    }

    /// Says whether bindings were kept in spite of it.
    public var isWarning: Bool {
        switch code {
        case .unusedParameter, .foreignParameter, .badNumber, .badCredential, .badServer, .notRegister: true
        default: false
        }
    }

    /// Says whether RFC 8599, 5.6.1.1 lets 555 answer it: a service that is not known, or too little about one.
    public var meansUnsupported: Bool { code == .unknownProvider || code == .missingParameter }
}
