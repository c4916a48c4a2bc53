// SPDX-License-Identifier: MIT

/// Flexisip's extension of RFC 8599 for Apple: up to two tokens in one `pn-prid`, each with the service it
/// is for, as `<token>:remote&<token>:voip`; and `apns.dev` for the sandbox. A phone that has only one of them yet may leave
/// the other half empty, as `<token>:voip&` (linphone-iphone, issue 853).
enum Flexisip {
    /// The bindings of one Apple Contact, one per token, in the order given.
    static func bindings(
        _ param: AppleParam, prid: String, environment: Environment, attributes: Binding.Attributes
    ) throws(Problem) -> [Binding] {
        if param.services.count == 1, environment == .standard, isSingle(prid) {
            return [
                try TokenRules.checked(
                    Binding(
                        provider: .apns, app: param.bundle, team: param.team, service: param.services.first,
                        token: prid,
                        dialect: .rfc8599, attributes: attributes), from: "pn-prid")
            ]
        }
        let (tokens, hasEmptyHalf) = split(prid)
        let isPartial = hasEmptyHalf && !tokens.isEmpty && tokens.allSatisfy { $0.service != nil }
        guard tokens.count == param.services.count || isPartial && tokens.count < param.services.count else {
            throw Problem(
                .serviceMismatch, "pn-prid",
                "holds \(tokens.count) token(s) where pn-param names \(param.services.count) service(s); send one token for each"
            )
        }
        let services = try assign(tokens, to: param.services)
        let isPlain = environment == .standard && tokens.count == 1 && tokens.allSatisfy { $0.service == nil }
        var bindings: [Binding] = []
        for (index, token) in tokens.enumerated() where index < services.count {
            bindings.append(
                try TokenRules.checked(
                    Binding(
                        provider: .apns, environment: environment, app: param.bundle, team: param.team,
                        service: services[index], token: token.text, dialect: isPlain ? .rfc8599 : .flexisip,
                        attributes: attributes), from: "pn-prid"))
        }
        return bindings
    }

    private struct Token {
        let text: String
        /// Nil when the token has no label.
        let service: TokenUse?
    }

    /// One token as RFC 8599 has it: neither a second one nor a label.
    private static func isSingle(_ prid: String) -> Bool {
        let bytes = prid.utf8.span
        return !bytes.contains { $0 == ASCII.ampersand || $0 == ASCII.colon }
    }

    /// Splits at `&`; a label is what follows the last `:` when it is a service.
    private static func split(_ prid: String) -> (tokens: [Token], hasEmptyHalf: Bool) {
        let bytes = prid.utf8.span
        var tokens: [Token] = []
        var hasEmptyHalf = false
        var cursor = Cursor(bytes)
        repeat {
            let part = cursor.skip(to: ASCII.ampersand)
            guard !part.isEmpty else {
                hasEmptyHalf = true
                continue
            }
            var colon = part.upperBound
            while colon > part.lowerBound, bytes[colon &- 1] != ASCII.colon { colon &-= 1 }
            if colon > part.lowerBound, let service = TokenUse(label: bytes.part(colon..<part.upperBound)) {
                tokens.append(Token(text: bytes.text(part.lowerBound..<(colon &- 1)), service: service))
            } else {
                tokens.append(Token(text: bytes.text(part), service: nil))
            }
        } while cursor.take(ASCII.ampersand) && tokens.count < SIPLimits.mostContacts
        return (tokens, hasEmptyHalf)
    }

    /// The service of each token: its label, or for the one without a label the service nobody else took.
    private static func assign(_ tokens: [Token], to services: [TokenUse]) throws(Problem) -> [TokenUse] {
        var free = services
        for label in tokens.compactMap(\.service) {
            guard let index = free.firstIndex(of: label) else {
                throw Problem(
                    .serviceMismatch, "pn-prid",
                    "has a token for '\(label.name)' that pn-param does not name, or names once; make both agree")
            }
            free.remove(at: index)
        }
        guard free.count <= 1 else {
            throw Problem(
                .serviceMismatch, "pn-prid", "does not say which token is for which service; add :voip and :remote")
        }
        return tokens.map { $0.service ?? free.first ?? .remote }
    }
}
