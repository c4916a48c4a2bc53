// SPDX-License-Identifier: MIT

/// What one Contact says about push, names recognised and escapes resolved, whatever the dialect.
///
/// RFC 8599 puts the parameters into the Contact URI. Phones also send them as parameters of the
/// Contact header, mostly because they leave out the angle brackets; those are taken as well. Of a
/// name that stands in both places the one in the URI counts.
struct PushParameters {
    private struct Entry {
        let name: PushParameterName
        let value: String
        let place: ParameterCursor.Place
    }

    private var entries: [Entry] = []
    /// A parameter with a token of which nobody here knows how it is meant, such as `pn-voip-tok`; empty for none.
    private(set) var foreignToken = ""

    /// Holds nothing yet.
    init() {}

    var isEmpty: Bool { entries.isEmpty }

    /// The value under a name; empty when the name came without one, nil when it did not come.
    subscript(name: PushParameterName) -> String? {
        // One by one: `first` would copy each with its value.
        for index in entries.indices where entries[index].name == name { return entries[index].value }
        return nil
    }

    /// The value under a name that must have one.
    func required(_ name: PushParameterName, for what: String) throws(Problem) -> String {
        guard let value = self[name], !value.isEmpty else {
            throw Problem(.missingParameter, name.rawValue, "is missing: \(what) needs it; add it to the Contact URI")
        }
        return value
    }

    /// Says whether the token under `name` is the word with which a phone unbinds.
    func isNull(_ name: PushParameterName) -> Bool {
        guard let value = self[name], value.utf8.count == 4 else { return false }
        return value.utf8.span.equalsIgnoringCase("null")
    }

    /// Adds one parameter when it is about push.
    mutating func add(
        _ parameter: Parameter, of bytes: Span<UInt8>, in place: ParameterCursor.Place
    ) throws(Problem) {
        guard let name = PushParameterName(bytes.part(parameter.name)) else {
            return noteForeignToken(bytes.part(parameter.name), isEmpty: parameter.value.isEmpty)
        }
        if let earlier = entries.firstIndex(where: { $0.name == name }) {
            guard entries[earlier].place == place else { return }
            throw Problem(.duplicateParameter, name.rawValue, "comes twice in one Contact; send it once")
        }
        let value = try Self.decode(bytes.part(parameter.value), of: name)
        if entries.isEmpty { entries.reserveCapacity(4) }
        entries.append(Entry(name: name, value: value, place: place))
    }

    private mutating func noteForeignToken(_ name: Span<UInt8>, isEmpty: Bool) {
        guard foreignToken.isEmpty, !isEmpty, name.count <= Self.longestForeignName,
            name.startsIgnoringCase(with: "pn-"), ByteClass.token.containsAll(of: name.text()),
            name.text().lowercased().contains("tok")
        else { return }
        foreignToken = name.text()
    }

    /// Bytes.
    private static let longestForeignName = 32

    /// The phone's attributes for its pushes; those that make no sense are left out with a warning.
    func attributes(warnings: inout [Problem]) -> Binding.Attributes {
        var attributes: [Binding.Attributes.Entry] = []
        for entry in entries where entry.name.isAttribute && !entry.value.isEmpty {
            if entry.name.isNumber, entry.value.utf8.span.decimal() == nil {
                warnings.append(
                    Problem(.badNumber, entry.name.rawValue, "is not a number and was ignored; send whole seconds"))
            } else {
                attributes.append(.init(name: entry.name.rawValue, value: entry.value))
            }
        }
        return Binding.Attributes(attributes)
    }

    private static func decode(_ bytes: Span<UInt8>, of name: PushParameterName) throws(Problem) -> String {
        // An escape takes three bytes for one.
        let limit = name.isAttribute ? SIPLimits.longestAttribute : SIPLimits.longestToken
        guard bytes.count <= limit * 3 else { throw TokenRules.tooLong(name.rawValue, limit) }
        let value: String
        do throws(PercentDecoding.Failure) {
            value = try PercentDecoding.decode(bytes)
        } catch {
            throw TokenRules.problem(error, name.rawValue)
        }
        guard value.utf8.count <= limit else { throw TokenRules.tooLong(name.rawValue, limit) }
        return value
    }
}

/// What one Contact wants of push.
public enum PushRequest: Equatable, Sendable {
    /// Nothing about push.
    case none
    /// Pushes to these tokens.
    case bind([Binding])
    /// An answer to which services are supported; the name as sent, empty for all (RFC 8599, 4.1.5).
    case query(provider: String)
    /// No more pushes for this device: a token of `null`.
    case unbind
    /// Something that cannot be used: see the problems.
    case unusable
}

extension PushRequest {
    /// Reads the parameters of one Contact in the dialect they are written in. With several dialects in one
    /// Contact RFC 8599 counts, then the older Linphone form, then `push-token-*`.
    /// `others` are services that are not known and served all the same.
    static func read(
        _ parameters: PushParameters, others: WebhookProviders = .none, warnings: inout [Problem]
    ) throws(Problem) -> PushRequest {
        if parameters.isEmpty { return .none }
        if parameters[.provider] != nil || parameters[.prid] != nil {
            return try RFC8599.read(parameters, others: others, warnings: &warnings)
        }
        if parameters[.legacyType] != nil || parameters[.legacyToken] != nil {
            return try LegacyLinphone.read(parameters, others: others, warnings: &warnings)
        }
        if parameters[.tokenType] != nil || parameters[.tokenID] != nil {
            return try PushToken.read(parameters, warnings: &warnings)
        }
        return .none
    }
}
