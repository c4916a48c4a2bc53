// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The lanes to Apple: of each certificate, and of the `.p8` key where no certificate covers the topic.
final class APNsLanes {
    /// Nil without a `.p8` key.
    let token: APNsTokenLanes?
    let certified: [APNsCertifiedLanes]
    /// Where tokens belong whose phone did not say.
    private let standardIsSandbox: Bool
    private let choice: APNsCertificateChoice

    /// Connections that are made ahead of need; more apps than this connect with their first push.
    private static let mostWarm = 16

    /// `topic` is the rule by which requests get their topics.
    init(token: APNsTokenLanes?, certified: [APNsCertifiedLanes], topic: APNsTopic, standardIsSandbox: Bool) {
        self.token = token
        self.certified = certified
        self.standardIsSandbox = standardIsSandbox
        choice = APNsCertificateChoice(certified.map(\.file.certificate), topic: topic)
    }

    /// The lane of a push; nil when no credential is for it. `now` in seconds since 1970.
    func lane(for binding: Binding, _ type: APNsPushType?, now: Int64) -> (any ProviderLane)? {
        let isSandbox = binding.environment.isSandbox(ifStandard: standardIsSandbox)
        if !certified.isEmpty,
            let place = choice.certificate(
                for: binding.app, type ?? (binding.service == .remote ? .alert : .voip),
                in: isSandbox ? .sandbox : .production, now: now),
            let lane = certified[place].lane(isSandbox: isSandbox)
        {
            return lane
        }
        return token?.lane(isSandbox: isSandbox)
    }

    /// Certificates that are over or nearly so, with file and remedy.
    func timeProblems(now: Int64) -> [String] { certified.compactMap { $0.file.timeProblem(now: now) } }

    /// Connects to the environment of ordinary bindings.
    func warmUp(now: Int64) {
        token?.lane(isSandbox: standardIsSandbox).warmUp()
        for lanes in certified.filter({ $0.file.certificate.isValid(at: now) }).prefix(Self.mostWarm) {
            lanes.lane(isSandbox: standardIsSandbox)?.warmUp()
        }
    }
}
