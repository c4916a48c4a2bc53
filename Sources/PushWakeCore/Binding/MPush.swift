// SPDX-License-Identifier: MIT

/// Mizutech's header: `X-MPUSH: [s:|p:|d:]PROVIDER:PACKAGE:TOKEN`, or `null`.
///
/// An Apple PACKAGE may end in `.voip` or `.remote`, as in `pn-param`: what the token is for. Without it the settings say
/// (`APNsTokenKind`).
///
/// The header has no escapes. TOKEN is all that follows the second colon: FCM tokens and URLs have colons too.
enum MPush {
    private static let header = "X-MPUSH"

    /// The attribute of a binding whose REGISTER had this header beside the `pn-…` that counted. Our own: of a Contact it is
    /// not read.
    static let attribute = "x-mpush"

    /// Reads the value of the header.
    static func read(_ value: Span<UInt8>) throws(Problem) -> PushRequest {
        let value = value.trimmed()
        if value.contains(where: { ASCII.isControl($0) }) { throw TokenRules.problem(.control, header) }
        if value.equalsIgnoringCase("null") { return .unbind }

        var cursor = Cursor(value)
        var letter = try field(&cursor, of: value, "a provider letter")
        var environment = Environment.standard
        if let named = self.environment(value.part(letter)) {
            environment = named
            letter = try field(&cursor, of: value, "a provider letter")
        }
        guard var provider = provider(value.part(letter)) else {
            throw TokenRules.unknownProvider(value.text(letter), header, known: "a, i, j or w")
        }
        // A page has no package to name: what begins like a URL is the endpoint.
        let rest = value.part(cursor.position..<value.count).trimmed()
        let hasPackage = provider != .webpush || !rest.startsIgnoringCase(with: "https://")
        let app = hasPackage ? value.text(try field(&cursor, of: value, "a package")) : ""
        let token = value.part(cursor.position..<value.count).trimmed().text()
        if token.utf8.span.equalsIgnoringCase("null") { return .unbind }
        // A page that takes its pushes through Firebase has a registration token, and no endpoint.
        let isBrowserOfFirebase = provider == .webpush && !app.isEmpty && !token.contains("://")
        if isBrowserOfFirebase { provider = .fcm }

        var binding = Binding(provider: provider, environment: environment, app: app, token: token, dialect: .mpush)
        if provider == .apns { readKind(of: &binding) }
        if provider != .webpush || !app.isEmpty { try TokenRules.check(app: binding.app, from: header) }
        binding = try TokenRules.checked(binding, from: header)
        if isBrowserOfFirebase { binding.attributes[FCMPlatform.attribute] = "web" }
        if value.part(letter).equalsIgnoringCase("j") { binding.attributes[FCMPlatform.attribute] = "ios" }
        return .bind([binding])
    }

    private static func field(
        _ cursor: inout Cursor, of value: Span<UInt8>, _ what: String
    ) throws(Problem) -> Range<Int> {
        cursor.skipBlanks()
        let field = cursor.trimmingBlanks(cursor.skip(to: ASCII.colon))
        guard cursor.take(ASCII.colon) else {
            throw Problem(
                .malformedHeader, header, "ends where \(what) and ':' should be; send PROVIDER:PACKAGE:TOKEN or null")
        }
        return field
    }

    private static func readKind(of binding: inout Binding) {
        if binding.app.hasSuffix(".voip") {
            // It stays a part of the app: who compares tokens of today with those of yesterday finds the same.
            binding.service = .voip
        } else if binding.app.hasSuffix(".remote") {
            binding.service = .remote
            binding.app = String(binding.app.dropLast(7))
        }
    }

    private static func environment(_ letter: Span<UInt8>) -> Environment? {
        if letter.equalsIgnoringCase("s") { return .sandbox }
        if letter.equalsIgnoringCase("p") { return .production }
        return letter.equalsIgnoringCase("d") ? .standard : nil
    }

    private static func provider(_ letter: Span<UInt8>) -> Provider? {
        if letter.equalsIgnoringCase("a") || letter.equalsIgnoringCase("j") { return .fcm }
        if letter.equalsIgnoringCase("i") { return .apns }
        return letter.equalsIgnoringCase("w") ? .webpush : nil
    }
}
