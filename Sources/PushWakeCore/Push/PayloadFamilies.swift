// SPDX-License-Identifier: MIT

/// Which built-in payload goes where: one for all, and others for single providers or apps.
public struct PayloadFamilies: Equatable, Sendable {
    /// A provider, or one of its apps, that has a payload of its own.
    public struct Exception: Equatable, Sendable {
        /// One of `providers`.
        public let provider: Provider
        /// Bundle id, package or project; empty for all.
        public let app: String
        public let family: BuiltInPayloads.Family
    }

    /// What a setting says wrongly.
    public struct Mistake: Error, Equatable, Sendable {
        /// What to write instead.
        public let remedy: String
    }

    /// Providers whose payloads are templates; the others have a form of their own.
    public static let providers = [Provider.apns, .fcm, .webpush]

    /// For whatever is no exception.
    public private(set) var usual: BuiltInPayloads.Family
    /// In the order given.
    public private(set) var exceptions: [Exception] = []

    /// The same for all.
    public init(_ usual: BuiltInPayloads.Family) { self.usual = usual }

    /// Reads `plain, fcm=mizutech, apns.com.example.phone=flexisip`; without a first name `plain` is the usual one.
    public init(setting: String) throws(Mistake) {
        self.init(.plain)
        for (number, part) in setting.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(Self.trimmed)
            if sides.count == 1, number == 0 {
                usual = try Self.family(sides[0])
            } else {
                guard sides.count == 2 else {
                    throw Mistake(remedy: "write one payload for all, then PROVIDER=PAYLOAD or PROVIDER.APP=PAYLOAD")
                }
                exceptions.append(try Self.exception(sides[0], try Self.family(sides[1])))
            }
        }
    }

    private static func exception(
        _ target: Substring, _ family: BuiltInPayloads.Family
    ) throws(Mistake) -> Exception {
        for provider in Self.providers {
            if target == provider.name { return Exception(provider: provider, app: "", family: family) }
            if target.hasPrefix("\(provider.name)."), target.utf8.count > provider.name.utf8.count + 1 {
                let app = String(target.dropFirst(provider.name.count + 1))
                return Exception(provider: provider, app: app, family: family)
            }
        }
        throw Mistake(
            remedy: "before = write apns, fcm or webpush, or one of their apps such as apns.com.example.phone")
    }

    private static func family(_ name: Substring) throws(Mistake) -> BuiltInPayloads.Family {
        guard let family = BuiltInPayloads.Family(rawValue: String(name)) else {
            throw Mistake(
                remedy: "write one of \(BuiltInPayloads.Family.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return family
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
