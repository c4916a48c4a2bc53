// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// Where the keys are: one server, or the masters of a cluster. A command goes to the server that has its key, and gets
/// exactly one answer: a reply, or nil when none came.
protocol ValkeyServers: AnyObject {
    /// Connects, again and again.
    func start()
    /// Gives all up: what is under way gets nil.
    func end()

    /// Sends a command about a key, and about others of the same hash tag. `isBrief`: where they are on their way to another
    /// server, there is something else to ask, and little time.
    func send(_ command: [[UInt8]], about key: [UInt8], isBrief: Bool, _ handler: @escaping ValkeyLink.Handler)
    /// Announces to the nodes that listen to a channel.
    func publish(_ message: [UInt8], to channel: [UInt8])
    /// Who has the key answers, and has not kept anybody waiting for longer than `limit` milliseconds.
    func isResponsive(about key: @autoclosure () -> [UInt8], within limit: Int64) -> Bool
    /// This command, sent now, and another about any key, sent next, are done in this order.
    var keepsOrder: Bool { get }

    /// Names of all servers that have keys, always in the same order, for what each is asked.
    var names: [String] { get }
    /// Which of them has a key; empty where nobody is known to.
    func server(of key: [UInt8]) -> String
    /// What announcing is called here.
    var words: AnnouncementWords { get }
    /// Asks one of them.
    func send(_ command: [[UInt8]], to name: String, _ handler: @escaping ValkeyLink.Handler)
    /// The server that has this key will not do, such as a replica that takes no writes: looks for another.
    func leave(_ reason: String)

    /// At least one takes commands.
    var isReady: Bool { get }
    /// Announcements are heard now.
    var isSubscribed: Bool { get }
    var events: ValkeyEvents { get }
}

extension ValkeyServers {
    /// Sends a command about a key, and about others of the same hash tag.
    func send(_ command: [[UInt8]], about key: [UInt8], _ handler: @escaping ValkeyLink.Handler) {
        send(command, about: key, isBrief: false, handler)
    }
}

/// Commands by which nodes tell each other.
struct AnnouncementWords {
    let publish: String
    let subscribe: String
    /// Servers send to each other what they are asked for (ASK).
    let asks: Bool

    static let single = AnnouncementWords(publish: "PUBLISH", subscribe: "SUBSCRIBE", asks: false)
    static let cluster = AnnouncementWords(publish: "SPUBLISH", subscribe: "SSUBSCRIBE", asks: true)
}

/// What servers tell of themselves.
final class ValkeyEvents {
    /// One takes commands now; `isAll`: and so do all others.
    var onReady: (_ isAll: Bool) -> Void = { _ in }
    /// One is gone, or cannot be reached; said once for each reason.
    var onTrouble: (_ reason: String) -> Void = { _ in }
    /// What was sent without anybody waiting for an answer, or listening (no server's name), is denied to the user.
    var onDenied: (_ text: String, _ server: String?) -> Void = { _, _ in }
    /// Announcements are heard from now on.
    var onSubscribed: () -> Void = {}
    /// They are not, until that is said again.
    var onUnsubscribed: () -> Void = {}
    var onMessage: ([UInt8]) -> Void = { _ in }
}

/// What each connection begins with.
typealias ValkeyGreeting = [(command: [[UInt8]], handler: (ValkeyReply) -> String?)]

/// One server, or the one that Sentinels name.
final class SingleServer: ValkeyServers {
    private let link: ValkeyLink
    private let subscription: ValkeyLink?
    let events = ValkeyEvents()

    /// Does nothing yet. `channel` is where announcements for this node come; nil for none.
    init(_ access: ValkeyAccess, greeting: ValkeyGreeting, channel: [UInt8]?, loop: Loop) throws(StoreError) {
        link = try ValkeyLink(access, loop: loop)
        link.greeting = greeting
        subscription = channel == nil ? nil : try ValkeyLink(access, loop: loop)
        link.onReady = { [events] in events.onReady(true) }
        link.onTrouble = { [events] in events.onTrouble($0) }
        link.keepsEarly = true
        if let channel { subscription?.listen(words.subscribe, to: channel, events) }
    }

    func start() {
        link.start()
        subscription?.start()
    }

    func end() {
        link.end()
        subscription?.end()
    }

    func send(_ command: [[UInt8]], about key: [UInt8], isBrief: Bool, _ handler: @escaping ValkeyLink.Handler) {
        link.send(command, handler)
    }

    func publish(_ message: [UInt8], to channel: [UInt8]) {
        link.send([words.publish.word, channel, message]) { [events] reply in
            if case .error(let text)? = reply, ServerRights.isDenial(text) { events.onDenied(text, "") }
        }
    }

    func isResponsive(about key: @autoclosure () -> [UInt8], within limit: Int64) -> Bool {
        link.isResponsive(within: limit)
    }

    var keepsOrder: Bool { true }
    var names: [String] { [""] }
    func server(of key: [UInt8]) -> String { "" }
    let words = AnnouncementWords.single

    func send(_ command: [[UInt8]], to name: String, _ handler: @escaping ValkeyLink.Handler) {
        link.send(command, handler)
    }

    func leave(_ reason: String) { link.leave(reason) }

    var isReady: Bool { link.isReady }
    var isSubscribed: Bool { subscription?.isReady ?? true }
}

extension ValkeyLink {
    /// Makes it a connection that hears a channel, and nothing else.
    func listen(_ command: String, to channel: [UInt8], _ events: ValkeyEvents) {
        greeting = [
            (
                [command.word, channel],
                { reply in
                    guard case .error(let text) = reply else { return nil }
                    if ServerRights.isDenial(text) { events.onDenied(text, nil) }
                    return text
                }
            )
        ]
        onReady = { events.onSubscribed() }
        onLost = { events.onUnsubscribed() }
        onMessage = { events.onMessage($0) }
    }
}
