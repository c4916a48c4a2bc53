// SPDX-License-Identifier: MIT

/// What one of Apple's push certificates allows: which topics, where, and how long.
///
/// Apple writes the topics into extensions of its own (Apple, "Establishing a certificate-based connection to
/// APNs"). Older certificates have only the subject's UID, and files from elsewhere perhaps only a name.
public struct APNsCertificate: Equatable, Sendable {
    /// Object identifiers of Apple's extensions.
    public enum ObjectID {
        /// There when it is for the sandbox.
        public static let sandbox = "1.2.840.113635.100.6.3.1"
        /// There when it is for production.
        public static let production = "1.2.840.113635.100.6.3.2"
        /// Lists of topics: for VoIP services, and for all kinds of push.
        public static let topics = ["1.2.840.113635.100.6.3.4", "1.2.840.113635.100.6.3.6"]
    }

    /// The parts of an X.509 certificate that matter here.
    public struct Parts: Sendable {
        /// Of the subject, such as `VoIP Services: com.example.phone`; empty when there is none.
        public var commonName = ""
        /// Of the subject: the bundle id, or a topic; empty when there is none.
        public var userID = ""
        /// DER values of the extensions that list topics.
        public var topicLists: [[UInt8]] = []
        /// `ObjectID.sandbox` is among its extensions.
        public var isForSandbox = false
        /// `ObjectID.production` is among its extensions.
        public var isForProduction = false
        /// Seconds since 1970.
        public var validFrom: Int64 = 0
        /// Seconds since 1970.
        public var validUntil = Int64.max

        public init() {}
    }

    /// Topics that may be pushed to; the first is the one of the subject. Empty: nothing says.
    public let topics: [String]
    /// For tokens of apps from the store or TestFlight.
    public let allowsProduction: Bool
    /// For tokens of apps started from Xcode.
    public let allowsSandbox: Bool
    /// Seconds since 1970.
    public let validFrom: Int64
    /// Seconds since 1970.
    public let validUntil: Int64
    /// The file's name speaks of an app whose topics it has; of two certificates this one is meant.
    public let isNamedAfterApp: Bool

    /// `fileName` without its directory; it helps where the certificate does not say.
    public init(_ parts: Parts, fileName: String) {
        let name = APNsCertificateName(fileName)
        let topics = Self.topics(parts, name)
        self.topics = topics
        isNamedAfterApp = topics.contains { APNsTopic.bundle(of: $0) == APNsTopic.bundle(of: name.app) }
        let says = parts.isForSandbox || parts.isForProduction
        let isOldSandbox = parts.commonName.hasPrefix("Apple Development ")
        allowsSandbox = says ? parts.isForSandbox : name.environment != .production
        allowsProduction = says ? parts.isForProduction : !isOldSandbox && name.environment != .sandbox
        validFrom = parts.validFrom
        validUntil = parts.validUntil
    }

    /// Whether Apple takes pushes to this topic with it.
    public func covers(_ topic: String) -> Bool { topics.contains(topic) }

    /// Whether it may be used in this environment, which is not `standard`.
    public func allows(_ environment: Environment) -> Bool {
        environment == .sandbox ? allowsSandbox : allowsProduction
    }

    /// Whether `now`, in seconds since 1970, lies in its time.
    public func isValid(at now: Int64) -> Bool { now >= validFrom && now <= validUntil }

    /// How a certificate stands to its time.
    public enum Timeliness: Equatable, Sendable {
        case valid
        /// It ends within 30 days; the date in ISO 8601.
        case ending(on: String)
        case expired(on: String)
        case early(from: String)
    }

    /// How it stands at `now`, in seconds since 1970.
    public func timeliness(at now: Int64) -> Timeliness {
        if now < validFrom { return .early(from: Self.date(validFrom)) }
        if now > validUntil { return .expired(on: Self.date(validUntil)) }
        let (soon, overflow) = now.addingReportingOverflow(30 * 86_400)
        return overflow || validUntil > soon ? .valid : .ending(on: Self.date(validUntil))
    }

    private static func date(_ seconds: Int64) -> String {
        let date = CivilDate.from(daysSince1970: seconds / 86_400)
        let digits = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        return "\(date.year)-\(digits(date.month))-\(digits(date.day))"
    }

    private static func topics(_ parts: Parts, _ name: APNsCertificateName) -> [String] {
        var found: [String] = []
        func add(_ topic: String) {
            if isTopic(topic), !found.contains(topic) { found.append(topic) }
        }
        add(parts.userID)
        for list in parts.topicLists { for topic in APNsTopicList.topics(inDER: list) { add(topic) } }
        let isVoIP = parts.commonName.hasPrefix("VoIP Services: ")
        if found.isEmpty, let colon = parts.commonName.firstIndex(of: ":") {
            // `Apple Push Services: com.example.phone`
            let app = parts.commonName[colon...].drop { $0 == ":" || $0 == " " }
            if app.contains(".") { add(String(app)) }
        }
        if isVoIP, let first = found.first, !found.contains(where: { $0.hasSuffix(".voip") }) { add("\(first).voip") }
        if found.isEmpty, !name.app.isEmpty {
            add(name.app)
            // Nothing says what kinds of push it is for: Apple has the last word.
            if !name.app.hasSuffix(".voip") { add("\(name.app).voip") }
        }
        return found
    }

    private static func isTopic(_ text: String) -> Bool { HeaderText.isFieldValue(text) }
}

/// What the name of a certificate's file says: `PACKAGE.p12`, `pushkit.PACKAGE.p12` as Mizutech has it, or
/// `APPID.prod.pem` as Flexisip has it.
struct APNsCertificateName: Equatable {
    /// Bundle id, perhaps with `.voip`; empty when the name does not tell.
    let app: String
    /// `standard` when the name does not tell.
    let environment: Environment

    init(_ fileName: String) {
        var stem = fileName[...]
        if let dot = stem.lastIndex(of: ".") { stem = stem[..<dot] }
        for prefix in ["pushkitcert.", "pushkitcert", "pushkit."] where stem.hasPrefix(prefix) {
            stem = stem.dropFirst(prefix.count)
            break
        }
        if stem.hasSuffix(".dev") {
            environment = .sandbox
            stem = stem.dropLast(4)
        } else if stem.hasSuffix(".prod") {
            environment = .production
            stem = stem.dropLast(5)
        } else {
            environment = .standard
        }
        // A bundle id has a dot; `pushkit` or `voip_services` names no app.
        app = stem.contains(".") ? String(stem) : ""
    }
}
