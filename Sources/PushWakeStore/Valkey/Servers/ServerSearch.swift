// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Asks several servers the same at once: the first that knows counts. One that is away is asked again, until somebody
/// calls the search off.
final class ServerSearch<Answer> {
    /// What is asked, and what an answer to it means.
    struct Question {
        /// What the servers are called in messages.
        let kind: String
        let command: [[UInt8]]
        /// Servers without a password take one that is sent to them for an error, and answer all the same.
        var isPasswordOptional = false
        /// The answer; nil when this server cannot help.
        let read: (ValkeyReply, _ asked: ValkeyAddress.Host) -> Answer?
        /// Why it cannot, where the reply is no error.
        let refusal: String
    }

    private var links: [ValkeyLink] = []
    private var hasSpoken = false
    /// What the last one said who could not help.
    private(set) var lastProblem: String

    /// Begins; `then` runs at most once.
    init(
        _ question: Question, of hosts: [ValkeyAddress.Host], _ access: ValkeyAccess, loop: Loop,
        then: @escaping (Answer) -> Void
    ) throws(StoreError) {
        lastProblem = "no \(question.kind) answers"
        for host in hosts {
            let link = try ValkeyLink(access.of(host, "\(question.kind) \(host)"), loop: loop)
            var isRefused = false
            link.greeting = [
                (
                    question.command,
                    { [weak self] reply in
                        guard let self else { return nil }
                        if let answer = question.read(reply, host) {
                            end()
                            then(answer)
                            return nil
                        }
                        isRefused = true
                        if case .error(let text) = reply { return text }
                        return question.refusal
                    }
                )
            ]
            link.isPasswordOptional = question.isPasswordOptional
            link.onTrouble = { [weak self] text in
                guard let self else { return }
                // What a server says tells more than that another one is away.
                if isRefused || !hasSpoken { lastProblem = text }
                if isRefused { hasSpoken = true }
                isRefused = false
            }
            links.append(link)
        }
        links.forEach { $0.start() }
    }

    deinit { end() }

    /// Calls it off.
    func end() {
        let open = links
        links = []
        open.forEach { $0.end() }
    }
}

extension ServerSearch<ValkeyAddress.Host>.Question {
    /// Where the master of this name is (https://valkey.io/topics/sentinel-clients/).
    static func master(named name: String) -> Self {
        Self(
            kind: "Sentinel", command: ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name].map(\.word),
            isPasswordOptional: true,
            read: { reply, _ in
                let words = reply.elements.compactMap(\.text)
                guard words.count == 2, let port = UInt16(words[1]), port > 0 else { return nil }
                return ValkeyAddress.Host(name: words[0], port: port)
            }, refusal: "it knows no master \(name)")
    }
}

extension ServerSearch<ClusterMap>.Question {
    /// Who has which slots (https://valkey.io/commands/cluster-slots/).
    static var slots: Self {
        Self(
            kind: "node", command: ["CLUSTER", "SLOTS"].map(\.word),
            read: { reply, asked in ClusterMap(reply, asked: asked) }, refusal: "it has no slots of a cluster yet")
    }
}
