// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// Asks all Sentinels at once where the master is: the first that knows it counts. One that is away is asked again, until
/// somebody calls the search off (https://valkey.io/topics/sentinel-clients/).
final class MasterSearch {
    private var links: [ValkeyLink] = []
    /// What the last one said who could not help.
    private(set) var lastProblem = "no Sentinel answers"

    /// Begins; `then` runs at most once. Sentinels without a password take one that is sent to them for an error, and
    /// answer all the same.
    init(
        _ access: ValkeyAccess, loop: Loop, then: @escaping (ValkeyAddress.Host) -> Void
    ) throws(StoreError) {
        guard case .sentinel(let hosts, let name, let isTLS) = access.address.place else { return }
        for host in hosts {
            let sentinel = "Sentinel \(host.name):\(host.port)"
            let link = try ValkeyLink(
                ValkeyAccess(
                    ValkeyAddress(host, isTLS: isTLS, description: sentinel), user: access.user,
                    passwordFile: access.passwordFile, caFile: access.caFile),
                loop: loop)
            var isRefused = false
            link.greeting = [
                (
                    ["SENTINEL".word, "GET-MASTER-ADDR-BY-NAME".word, name.word],
                    { [weak self] reply in
                        guard let self else { return nil }
                        let words = reply.elements.compactMap(\.text)
                        if words.count == 2, let port = UInt16(words[1]), port > 0 {
                            end()
                            then(ValkeyAddress.Host(name: words[0], port: port))
                            return nil
                        }
                        isRefused = true
                        if case .error(let text) = reply { return text }
                        return "it knows no master \(name)"
                    }
                )
            ]
            link.isPasswordOptional = true
            link.onTrouble = { [weak self] text in
                // What a Sentinel says tells more than that another one is away.
                if isRefused || self?.lastProblem.contains("knows no") == false { self?.lastProblem = text }
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
