// SPDX-License-Identifier: MIT

/// Which of several certificates a push takes: one that covers its topic, is for its environment, and is in time.
public struct APNsCertificateChoice: Sendable {
    /// Places in the list, the best first.
    private struct Candidates: Sendable {
        var voip: [Int] = []
        var other: [Int] = []
    }

    private let certificates: [APNsCertificate]
    /// By bundle id, as phones send it: with and without `.voip`.
    private var byApp: [String: Candidates] = [:]
    /// When the topic does not depend on the app.
    private var ofEveryApp: Candidates?

    /// `topic` is the rule by which requests get their topics.
    public init(_ certificates: [APNsCertificate], topic: APNsTopic) {
        self.certificates = certificates
        let order = certificates.indices.sorted { Self.isBetter(certificates[$0], certificates[$1]) }
        switch topic {
        case .fixed(let name):
            let covering = order.filter { certificates[$0].covers(name) }
            ofEveryApp = Candidates(voip: covering, other: covering)
        case .package:
            for index in order {
                for topic in certificates[index].topics where !Self.isVoIP(topic) {
                    add(index, to: topic, \.voip)
                    add(index, to: topic, \.other)
                }
            }
        case .automatic, .omitted:
            for index in order {
                for topic in certificates[index].topics {
                    add(index, to: String(APNsTopic.bundle(of: topic)), Self.isVoIP(topic) ? \.voip : \.other)
                }
            }
        }
    }

    /// The place in the list; nil when no certificate will do. `now` in seconds since 1970.
    public func certificate(
        for app: String, _ type: APNsPushType, in environment: Environment, now: Int64
    ) -> Int? {
        guard let candidates = ofEveryApp ?? byApp[app] else { return nil }
        let places = type == .voip ? candidates.voip : candidates.other
        return places.first { certificates[$0].allows(environment) && certificates[$0].isValid(at: now) }
    }

    private mutating func add(_ index: Int, to app: String, _ list: WritableKeyPath<Candidates, [Int]>) {
        for name in [app, "\(app).voip"] { byApp[name, default: Candidates()][keyPath: list].append(index) }
    }

    /// The operator named the file after the app; else the one that lasts longer.
    private static func isBetter(_ left: APNsCertificate, _ right: APNsCertificate) -> Bool {
        if left.isNamedAfterApp != right.isNamedAfterApp { return left.isNamedAfterApp }
        return left.validUntil > right.validUntil
    }

    private static func isVoIP(_ topic: String) -> Bool { APNsTopic.bundle(of: topic).utf8.count < topic.utf8.count }
}
