// SPDX-License-Identifier: MIT

/// `pn-param` of Apple's service: `TEAM.BUNDLE.SERVICE` (RFC 8599, 10).
///
/// The RFC makes whatever follows the last dot the service. Phones in the field leave the service out,
/// so only words known as services count as one; else the bundle id reaches to the end, for ordinary pushes.
///
/// Mizutech's phones may leave the team out too, and send the bundle id alone. A team id is of capitals and digits
/// (Apple: ten of them), which no bundle id begins with.
struct AppleParam {
    /// Empty when the phone does not say.
    let team: String
    /// Without the service.
    let bundle: String
    /// In the order given, each once; never empty.
    let services: [Service]

    init(_ text: String) throws(Problem) {
        let bytes = text.utf8.span
        var cursor = Cursor(bytes)
        var team = cursor.skip(to: ASCII.dot)
        let isTeam = !bytes.part(team).contains(where: { $0 &- 0x61 < 26 })
        guard !team.isEmpty, cursor.take(ASCII.dot), !cursor.isAtEnd else {
            throw Problem(
                .missingParameter, "pn-param",
                "names no app: send TEAM.BUNDLE.voip, the team id and bundle id of the app")
        }
        if !isTeam { team = 0..<0 }
        let rest = (isTeam ? cursor.position : 0)..<bytes.count
        var lastDot = rest.upperBound
        while lastDot > rest.lowerBound, bytes[lastDot &- 1] != ASCII.dot { lastDot &-= 1 }

        var bundle = rest
        var services = Self.remote
        if lastDot > rest.lowerBound, let named = Self.services(bytes.part(lastDot..<rest.upperBound)) {
            bundle = rest.lowerBound..<(lastDot &- 1)
            services = named
        }
        self.team = bytes.text(team)
        self.bundle = bytes.text(bundle)
        self.services = services
        if isTeam { try TokenRules.check(app: self.team, from: "pn-param") }
        try TokenRules.check(app: self.bundle, from: "pn-param")
    }

    private static let remote: [Service] = [.remote]
    private static let voip: [Service] = [.voip]

    /// `voip`, `remote`, or several of them with `&` between; nil when any other word is there.
    private static func services(_ label: Span<UInt8>) -> [Service]? {
        if label.equals("voip") { return voip }
        var found: [Service] = []
        var cursor = Cursor(label)
        repeat {
            let word = label.part(cursor.skip(to: ASCII.ampersand))
            guard let service = Service(label: word) else { return nil }
            if !found.contains(service) { found.append(service) }
        } while cursor.take(ASCII.ampersand)
        return found
    }
}
