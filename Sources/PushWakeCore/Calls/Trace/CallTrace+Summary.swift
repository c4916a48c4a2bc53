// SPDX-License-Identifier: MIT

extension CallTrace {
    /// What became of the request for its user's phones.
    public enum Result: Equatable, Sendable {
        /// It goes on, or nobody says how it ended.
        case open
        /// A phone rang or took it, or somebody else did.
        case fine
        /// The caller hung up before a phone rang; what to do if that took too long.
        case early(String)
        /// No phone rang; what to do.
        case failed(String)
    }

    /// What became of each phone in a few words: who rang, and why another one did not.
    public var summary: String {
        let texts = fates.map { words(for: $0.fate, $0.device) }
        return PrintableText.cleaned(texts.isEmpty ? "there was no phone to ring" : texts.joined(separator: "; "))
    }

    /// What to think of it.
    public var result: Result {
        guard let end else { return .open }
        let fates = fates
        switch end.how {
        case .answered, .completedElsewhere, .failed(..<300): return .fine
        case .cancelled, .timedOut, .failed: break
        }
        if fates.contains(where: { $0.fate.hasRung }) { return .fine }
        let furthest = fates.max { $0.fate.rank < $1.fate.rank }
        let text = furthest.map { remedy(for: $0.fate, $0.device) } ?? Remedy.noPhone
        guard end.how == .cancelled else { return .failed(text) }
        return .early(furthest?.fate.isOfTime(end.at) == true ? Remedy.gaveUp(after: end.at) : text)
    }

    /// What a reader sees of it at one glance.
    public enum Fate: String, CaseIterable, Sendable {
        /// It goes on, or nobody says how it ended.
        case open
        /// A phone rang, or took it.
        case rang
        /// The caller hung up before a phone could ring.
        case early
        /// A phone came when it was over.
        case late
        /// No phone rang.
        case lost
    }

    /// Which of these it is.
    public var fate: Fate {
        switch result {
        case .open: .open
        case .fine: .rang
        case .early: hasLatePhone ? .late : .early
        case .failed: hasLatePhone ? .late : .lost
        }
    }

    private var hasLatePhone: Bool {
        fates.contains { if case .late = $0.fate { true } else { false } }
    }

    /// Of each phone, in order.
    private var fates: [(device: UInt8, fate: PhoneFate)] {
        var courses: [(device: UInt8, course: PhoneCourse)] = []
        for line in lines where line.device != TraceLine.nobody {
            if let index = courses.firstIndex(where: { $0.device == line.device }) {
                courses[index].course.take(line)
            } else {
                var course = PhoneCourse()
                course.take(line)
                courses.append((line.device, course))
            }
        }
        courses.sort { $0.device < $1.device }
        if end?.how == .answered, let index = Self.answering(courses.map(\.course)) {
            courses[index].course.heard = 200
        }
        var isTaken = false
        if case .failed(..<300)? = end?.how { isTaken = true }
        return courses.map { ($0.device, $0.course.fate(isTaken: isTaken, isLeft: isLeft)) }
    }

    /// Hosts report the end of an answered request, and not always which leg it was: the one that can have answered.
    private static func answering(_ courses: [PhoneCourse]) -> Int? {
        guard !courses.contains(where: { $0.heard >= 200 && $0.heard < 300 }) else { return nil }
        let open = courses.indices.filter { courses[$0].lastLeg != nil && courses[$0].heard < 300 }
        let ringing = open.filter { courses[$0].hasRung }
        if ringing.count == 1 { return ringing[0] }
        return open.count == 1 ? open[0] : nil
    }

    private func words(for fate: PhoneFate, _ device: UInt8) -> String {
        let phone = phone(device)
        switch fate {
        case .answered: return "\(phone) answered"
        case .rang: return "\(phone) rang"
        case .declined(let status, let hasRung): return "\(phone) \(hasRung ? "rang and " : "")declined (\(status))"
        case .tried(let status): return "\(phone) had the request (\(status)) and did not ring"
        case .told: return "\(provider(device)) accepted the push to \(phone)"
        case .late: return "\(phone) came after the end"
        case .left: return "\(phone) registered, and the dialplan went on"
        case .missed(let status): return "\(phone) registered, and was not reached (\(status))"
        case .mute: return "\(phone) registered, was rung and did not answer"
        case .silent: return "\(provider(device)) accepted the push and \(phone) did not register"
        case .waiting: return "\(phone) did not register after the push before"
        case .noAnswer: return "\(phone) did not register, and \(provider(device)) has not answered the push"
        case .noPush(let line):
            let reason = text(of: line)
            return "no push reached \(phone): \(line.outcome?.name ?? "")\(reason.isEmpty ? "" : " \(reason)")"
        case .unreached(let status): return "\(phone) was not reached (\(status))"
        case .unanswered: return "\(phone) was rung and did not answer"
        case .refused(let line): return sentence(of: line)
        case .registered: return "\(phone) registered"
        case .absent: return "\(phone) had no contact to ring"
        }
    }

    private func remedy(for fate: PhoneFate, _ device: UInt8) -> String {
        let index = Int(device)
        let provider = names.indices.contains(index) ? names[index]?.provider : nil
        switch fate {
        case .answered, .rang, .told, .left: return ""
        case .declined(let status, _): return Remedy.answer(Int(status))
        case .tried: return Remedy.noRing
        case .late: return Remedy.late
        case .missed, .unreached: return Remedy.address
        case .mute, .unanswered: return Remedy.mute
        case .silent, .waiting: return provider.map(Remedy.silence) ?? Remedy.noPhone
        case .noAnswer: return provider.map { Remedy.push(.unavailable, "", $0) } ?? Remedy.noPhone
        case .noPush(let line):
            return provider.map { Remedy.push(line.outcome ?? .unavailable, text(of: line), $0) } ?? Remedy.noPhone
        case .refused(let line):
            guard line.kind == .putOff, let setting = LimitKey.Setting(rawValue: line.detail) else {
                return Remedy.otherToken
            }
            return "wait; where it happens often, raise \(setting.name)"
        case .registered, .absent: return Remedy.noPhone
        }
    }
}

/// What became of one phone in a request.
enum PhoneFate {
    case answered
    case rang
    case declined(UInt16, hasRung: Bool)
    /// It said 100 and no more.
    case tried(UInt16)
    /// A push was accepted, and that was all that was wanted.
    case told
    case late
    /// The dialplan went on with it.
    case left
    /// It woke, and nothing came back from its contact.
    case missed(UInt16)
    /// It woke, was rung and said nothing.
    case mute
    case silent
    /// It was pushed before, and this time not again.
    case waiting
    /// The provider has not answered.
    case noAnswer
    /// What the provider said.
    case noPush(TraceLine)
    case unreached(UInt16)
    case unanswered
    /// Why nothing was pushed.
    case refused(TraceLine)
    case registered
    case absent

    /// Somebody could hear it, and took it or not.
    var hasRung: Bool {
        switch self {
        case .answered, .rang, .told, .left: true
        // A codec that fails fails before anybody hears it, whatever the app shows.
        case .declined(let status, let hasRung): hasRung && status != 488 && status != 606
        default: false
        }
    }

    /// A call that the caller ended after so many milliseconds says of its phone only that this was too soon.
    func isOfTime(_ milliseconds: Int64) -> Bool {
        switch self {
        case .late: true
        case .silent, .noAnswer: milliseconds < Self.ordinaryWake
        default: false
        }
    }

    /// Milliseconds within which most phones wake.
    private static let ordinaryWake: Int64 = 10_000

    /// How far it came: of several phones, the one that came furthest says what to do.
    var rank: Int {
        switch self {
        case .absent, .registered: 0
        case .refused, .waiting: 1
        case .noAnswer: 2
        case .noPush: 3
        case .silent: 4
        case .unreached: 5
        case .unanswered: 6
        case .late: 7
        case .missed: 8
        case .mute: 9
        case .tried: 10
        case .declined: 11
        case .left, .told, .rang, .answered: 12
        }
    }
}

/// How far one phone came in a request, line by line.
private struct PhoneCourse {
    /// Highest provisional, or final, status that it sent.
    var heard: UInt16 = 0
    var hasRung = false
    var lastLeg: TraceLine?
    private var wasPushed = false
    private var isAccepted = false
    private var lastFailure: TraceLine?
    private var refusal: TraceLine?
    private var hasRegistered = false
    private var isLate = false
    private var failedLeg: TraceLine?

    mutating func take(_ line: TraceLine) {
        switch line.kind {
        case .pushed where line.pushEvent?.isNotice != true: wasPushed = true
        case .pushEnded where line.pushEvent?.isNotice != true:
            if line.outcome == .accepted { isAccepted = true } else { lastFailure = line }
        case .notPushed, .putOff: refusal = line
        case .registered: hasRegistered = true
        case .late: isLate = true
        case .rung: (lastLeg, failedLeg) = (line, nil)
        case .legFailed where line.status != CallLeg.merged: failedLeg = line
        case .progressed:
            heard = max(heard, line.status)
            if line.status > 100 && line.status < 200 { hasRung = true }
        default: break
        }
    }

    /// `isTaken`: the request was accepted with a push alone. `isLeft`: nobody says what became of it.
    func fate(isTaken: Bool, isLeft: Bool) -> PhoneFate {
        if heard >= 200 && heard < 300 { return .answered }
        if TraceLine.isUnanswered(heard) || hasRung && heard < 200 { return .rang }
        if heard >= 300 { return .declined(heard, hasRung: hasRung) }
        if heard > 0 { return .tried(heard) }
        if isTaken && isAccepted { return .told }
        if isLate { return .late }
        if hasRegistered && isLeft { return .left }
        if hasRegistered, let failedLeg { return .missed(failedLeg.status) }
        if hasRegistered && lastLeg != nil { return .mute }
        if wasPushed || isAccepted || lastFailure != nil { return afterPush }
        if let failedLeg { return .unreached(failedLeg.status) }
        if lastLeg != nil { return .unanswered }
        if let refusal { return .refused(refusal) }
        return hasRegistered ? .registered : .absent
    }

    /// Of a phone that a push should have woken.
    private var afterPush: PhoneFate {
        if isAccepted { return .silent }
        if let lastFailure { return .noPush(lastFailure) }
        return refusal?.kind == .putOff ? .waiting : .noAnswer
    }
}

extension PushEvent {
    /// It tells of an end, and wakes nobody for a request.
    var isNotice: Bool { self == .cancel || self == .missed || self == .answeredElsewhere }
}
