// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// The masters of a cluster: one connection to each that has slots, made when the map of slots names it. What a node says
/// of another (MOVED, ASK) is obeyed; while a master is away its keys are away, and the map is looked at again and again
/// until its replica has taken over.
///
/// Announcements come by sharded publish and subscribe: over a connection to whoever has the slot of this node's channel.
final class ClusterServers: ValkeyServers {
    typealias Host = ValkeyAddress.Host

    /// A command on its way, perhaps from one node to another.
    private final class Errand {
        let command: [[UInt8]]
        let slot: Int
        let handler: ValkeyLink.Handler
        let isBrief: Bool
        var hops = 0
        var waits = 0

        init(_ command: [[UInt8]], _ slot: Int, isBrief: Bool, _ handler: @escaping ValkeyLink.Handler) {
            self.command = command
            self.slot = slot
            self.isBrief = isBrief
            self.handler = handler
        }
    }

    /// How often a command is sent on.
    private static let mostHops = 8
    /// How often an announcement is sent while the master of its channel is away.
    private static let mostAnnouncements = 25
    /// Milliseconds until a command is tried again whose keys are on their way to another node.
    private static let tryAgainPause: Int64 = 20
    /// How often that is, where there is something else to ask.
    private static let mostBriefWaits = 2
    /// Milliseconds between two looks at the map while not all masters answer: the first ones, and later.
    private static let lookPauses: ClosedRange<Int64> = 200...2000
    /// Milliseconds for which a connection that nobody needs any more is kept for what is under way.
    private static let retirement: Int64 = 2000

    private let access: ValkeyAccess
    private let seeds: [Host]
    private let greeting: ValkeyGreeting
    private let channel: [UInt8]?
    private let loop: Loop
    private var map = ClusterMap()
    private var links: [Host: ValkeyLink] = [:]
    private var subscription: (host: Host, link: ValkeyLink)?
    private var search: ServerSearch<ClusterMap>?
    private var isLooking = false
    /// Has sent a command on since the map was looked at.
    private var informed: Host?
    private var lookTimer: Loop.TimerID?
    private var looks: Int64 = 0
    private var lastSaid = ""
    private var isEnded = false
    let events = ValkeyEvents()

    /// Does nothing yet. `channel` is where announcements for this node come; nil for none.
    init(
        _ access: ValkeyAccess, seeds: [Host], greeting: ValkeyGreeting, channel: [UInt8]?, loop: Loop
    ) throws(StoreError) {
        self.access = access
        self.seeds = seeds
        self.greeting = greeting
        self.channel = channel
        self.loop = loop
        // What would fail for each of them is said at the start.
        if let first = seeds.first { _ = try ValkeyLink(access.of(first, ""), loop: loop) }
    }

    func start() { look() }

    func end() {
        isEnded = true
        if let lookTimer { loop.cancel(lookTimer) }
        search?.end()
        subscription?.link.end()
        links.values.forEach { $0.end() }
    }

    // MARK: Commands

    func send(_ command: [[UInt8]], about key: [UInt8], isBrief: Bool, _ handler: @escaping ValkeyLink.Handler) {
        let slot = ClusterMap.slot(of: key)
        deliver(Errand(command, slot, isBrief: isBrief, handler), to: map.master(of: slot))
    }

    func publish(_ message: [UInt8], to channel: [UInt8]) {
        publish(message, to: channel, attempts: Self.mostAnnouncements)
    }

    /// The other node may hear again before this one knows where.
    private func publish(_ message: [UInt8], to channel: [UInt8], attempts: Int) {
        send([words.publish.word, channel, message], about: channel) { [weak self] reply in
            if let reply {
                guard case .error(let text) = reply else { return }
                if ServerRights.isDenial(text), let self {
                    return events.onDenied(text, server(of: channel))
                }
            }
            guard let self, attempts > 1, !isEnded else { return }
            loop.schedule(after: Self.lookPauses.lowerBound) { [weak self] in
                self?.publish(message, to: channel, attempts: attempts - 1)
            }
        }
    }

    private func deliver(_ errand: Errand, to host: Host?, asking: Bool = false) {
        guard !isEnded, let host, let link = link(to: host) else {
            lookSoon()
            return errand.handler(nil)
        }
        if asking { link.send(["ASKING".word]) { _ in } }
        link.send(errand.command) { [weak self] reply in
            guard let self, case .error(let text)? = reply,
                let redirection = ClusterRedirection(text, asked: host)
            else { return errand.handler(reply) }
            errand.hops += 1
            guard errand.hops <= Self.mostHops else {
                return errand.handler(.error("TRYAGAIN slot \(errand.slot) is on its way to another master"))
            }
            follow(redirection, of: host, errand, reply)
        }
    }

    private func follow(_ redirection: ClusterRedirection, of asked: Host, _ errand: Errand, _ reply: ValkeyReply?) {
        switch redirection {
        case .moved(let slot, let host):
            map.move(slot, to: host)
            informed = asked
            lookSoon()
            deliver(errand, to: host)
        case .ask(let host): deliver(errand, to: host, asking: true)
        case .tryAgain:
            errand.waits += 1
            guard !errand.isBrief || errand.waits <= Self.mostBriefWaits else { return errand.handler(reply) }
            loop.schedule(after: Self.tryAgainPause) { [weak self] in
                guard let self else { return errand.handler(nil) }
                deliver(errand, to: map.master(of: errand.slot))
            }
        case .down:
            lookSoon()
            errand.handler(reply)
        }
    }

    func isResponsive(about key: @autoclosure () -> [UInt8], within limit: Int64) -> Bool {
        guard let host = map.master(of: ClusterMap.slot(of: key())) else { return false }
        return links[host]?.isResponsive(within: limit) ?? false
    }

    var keepsOrder: Bool { false }
    var names: [String] { map.masters.map(\.description).sorted() }
    func server(of key: [UInt8]) -> String { map.master(of: ClusterMap.slot(of: key))?.description ?? "" }
    let words = AnnouncementWords.cluster

    func send(_ command: [[UInt8]], to name: String, _ handler: @escaping ValkeyLink.Handler) {
        guard let host = map.masters.first(where: { $0.description == name }), let link = link(to: host) else {
            return handler(nil)
        }
        link.send(command, handler)
    }

    func leave(_ reason: String) { lookSoon() }

    var isReady: Bool { links.values.contains(where: \.isReady) }
    var isSubscribed: Bool { channel == nil || subscription?.link.isReady == true }

    private var areAllReady: Bool { map.isWhole && map.masters.allSatisfy { links[$0]?.isReady == true } }

    // MARK: Connections

    private func link(to host: Host) -> ValkeyLink? {
        if let link = links[host] { return link }
        guard !isEnded, let link = makeLink(to: host, "master") else { return nil }
        link.keepsEarly = true
        link.greeting = greeting
        link.onReady = { [weak self] in self?.established() }
        link.onTrouble = { [events] in events.onTrouble($0) }
        link.onLost = { [weak self] in self?.lookSoon() }
        links[host] = link
        link.start()
        return link
    }

    private func makeLink(to host: Host, _ kind: String) -> ValkeyLink? {
        do throws(StoreError) {
            return try ValkeyLink(access.of(host, "\(kind) \(host)"), loop: loop)
        } catch {
            say(error.description)
            return nil
        }
    }

    private func established() {
        search?.end()
        search = nil
        isLooking = false
        lastSaid = ""
        if !areAllReady { lookSoon() }
        events.onReady(areAllReady)
    }

    private func say(_ text: String) {
        guard text != lastSaid else { return }
        lastSaid = text
        events.onTrouble("\(access.address): \(text)")
    }

    // MARK: The map

    private func lookSoon() {
        looks = 0
        guard !isLooking, !isEnded else { return }
        lookAgain(after: 0)
    }

    private func lookAgain(after pause: Int64) {
        if let lookTimer { loop.cancel(lookTimer) }
        lookTimer = loop.schedule(after: pause) { [weak self] in
            self?.lookTimer = nil
            self?.look()
        }
    }

    /// Asks one that answers, or all that there may be. Who has sent a command on knows what others have yet to hear.
    private func look() {
        guard !isLooking, !isEnded else { return }
        isLooking = true
        looks += 1
        let responsive = links.filter { $0.value.isResponsive(within: Self.lookPauses.lowerBound) }
        guard let (host, link) = responsive.first(where: { $0.key == informed }) ?? responsive.randomElement() else {
            return searchAll()
        }
        informed = nil
        link.send(["CLUSTER".word, "SLOTS".word]) { [weak self] reply in
            guard let self else { return }
            isLooking = false
            if let found = reply.flatMap({ ClusterMap($0, asked: host) }) { adopt(found) }
            guard !areAllReady else { return }
            lookAgain(after: min(Self.lookPauses.lowerBound * (looks / 8 + 1), Self.lookPauses.upperBound))
        }
    }

    private func searchAll() {
        let hosts = seeds + map.nodes.filter { !seeds.contains($0) }
        do throws(StoreError) {
            search = try ServerSearch(.slots, of: hosts, access, loop: loop) { [weak self] found in
                guard let self, search != nil else { return }
                search = nil
                isLooking = false
                adopt(found)
                lookAgain(after: Self.lookPauses.lowerBound)
            }
        } catch {
            say(error.description)
            isLooking = false
            return lookAgain(after: Self.lookPauses.upperBound)
        }
        lookTimer = loop.schedule(after: Self.lookPauses.upperBound) { [weak self] in
            guard let self, let search else { return }
            say(search.lastProblem)
        }
    }

    private func adopt(_ found: ClusterMap) {
        map = found
        for host in found.masters { _ = link(to: host) }
        for host in links.keys where !found.masters.contains(host) { retire(host) }
        guard let channel, let host = found.master(of: ClusterMap.slot(of: channel)), subscription?.host != host,
            let link = makeLink(to: host, "master")
        else { return }
        subscription?.link.end()
        link.listen(words.subscribe, to: channel, events)
        let tell = link.onLost
        link.onLost = { [weak self] in
            tell()
            self?.lookSoon()
        }
        subscription = (host, link)
        link.start()
    }

    /// It is no master any more, or not yet one for the node whose map this is: what is under way there, or waits for its
    /// connection, may still be answered.
    private func retire(_ host: Host) {
        let end = { [weak self] in
            guard let self, !map.masters.contains(host) else { return }
            links.removeValue(forKey: host)?.end()
        }
        guard let link = links[host], link.waitingCount > 0 else { return end() }
        loop.schedule(after: Self.retirement, end)
    }
}
