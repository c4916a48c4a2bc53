// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore

/// One account of the gateway in memory.
final class KeptAccount {
    /// Its place in the schedule.
    let index: UInt32
    let name: String
    var target: UpstreamTarget
    var machine: UpstreamRegistration
    /// Own Call-ID and From tag: the server sees one client, whoever of the user's phones registers (RFC 3261, 10.2).
    let callID: String
    let fromTag: String
    /// Host and port of the Contact.
    var local: String
    /// Who answers challenges.
    var username: String
    /// HA1, sealed; empty when none is kept.
    var secret: [UInt8] = []
    /// Under which bindings of the user are stored.
    var aor = ""
    /// Whose processes sent the last REGISTER.
    var host: UInt64 = 0
    /// A time at which it may go was given to it.
    var hasPlace = false
    /// It is in the file.
    var isStored = false
    /// What REGISTERs of phones say that are held. It is not the account's before the server has accepted them.
    var requests: [PhoneRegister.Handle: UpstreamRequest] = [:]
    /// REGISTERs that are on their way: the machine's number, and that by which the host tells of the answer.
    var sending: [(attempt: UInt32, id: UInt64)] = []

    init(
        index: UInt32, target: UpstreamTarget, machine: consuming UpstreamRegistration, callID: String,
        fromTag: String, local: String
    ) {
        self.index = index
        name = target.name
        self.target = target
        self.machine = machine
        self.callID = callID
        self.fromTag = fromTag
        self.local = local
        username = target.user
    }

    /// What is remembered of it. Times of the machine are monotonic milliseconds, those of the row seconds since 1970.
    func row(now: Int64, wall: Int64) -> UpstreamRow {
        func seconds(_ time: Int64) -> Int64 { wall + (time - now) / 1000 }
        return UpstreamRow(
            target: target, local: local, callID: callID, fromTag: fromTag, cseq: machine.cseq, username: username,
            until: machine.until.map(seconds) ?? 0, interval: machine.interval, aor: aor, secret: secret,
            algorithm: machine.credential, devices: machine.devices.map { ($0.device.fingerprint, seconds($0.endsAt)) })
    }
}

/// Where a phone wants to be registered, and as whom.
struct UpstreamRequest {
    let target: UpstreamTarget
    let local: String
    /// As its Authorization has it; nil when it sent none.
    let username: String?
}

/// All accounts: found by name, and by their place in the schedule.
struct KeptAccounts {
    /// More than a host can serve; a flood of names fills no memory.
    static let most = 1_000_000

    private var named: [String: KeptAccount] = [:]
    private var places: [KeptAccount?] = []
    private var free: [UInt32] = []

    var count: Int { named.count }
    var all: some Sequence<KeptAccount> { named.values }

    subscript(name: String) -> KeptAccount? { named[name] }

    subscript(index: UInt32) -> KeptAccount? { Int(index) < places.count ? places[Int(index)] : nil }

    /// A place for one more; nil when there is none.
    mutating func place() -> UInt32? {
        guard named.count < Self.most else { return nil }
        if let index = free.popLast() { return index }
        places.append(nil)
        return UInt32(places.count - 1)
    }

    mutating func add(_ account: KeptAccount) {
        named[account.name] = account
        places[Int(account.index)] = account
    }

    mutating func remove(_ account: KeptAccount) {
        named[account.name] = nil
        places[Int(account.index)] = nil
        free.append(account.index)
    }
}

/// What a host has to do for the gateway; raw kinds are `enum pushwake_upstream_kind`.
struct UpstreamOrder {
    enum Kind: Int {
        case send = 1
        case accept = 2
        case refuse = 3
    }

    let kind: Kind
    let host: UInt64
    let account: KeptAccount
    let target: UpstreamTarget
    /// Of the phone's REGISTER.
    var handle: UInt64 = 0
    /// Of the one that is sent.
    var id: UInt64 = 0
    var callID: String
    var cseq: UInt32 = 0
    var status = 0
    var reason = ""
    /// Seconds; nil for as long as the phone likes.
    var atMost: UInt32?
    /// Whole lines, each with its end.
    var headers = ""

    init(_ kind: Kind, host: UInt64, _ account: KeptAccount, _ target: UpstreamTarget? = nil) {
        self.kind = kind
        self.host = host
        self.account = account
        self.target = target ?? account.target
        callID = account.callID
    }
}
