// SPDX-License-Identifier: MIT

/// Makes text from packets fit for a trace: short, printable, and without tokens or passwords.
enum TraceText {
    /// Bytes of a contact that are looked at.
    private static let longestContact = 384

    /// At most so many bytes of it.
    static func cut(_ text: String, to most: Int = CallTrace.longestText) -> String {
        guard text.utf8.count > most else { return text }
        return String(decoding: text.utf8.prefix(most), as: UTF8.self)
    }

    /// Where a contact is: its URI without password and without parameters, among which tokens are, but for the
    /// transport.
    static func address(_ contact: String) -> String {
        let bytes = contact.utf8.span.part(0..<longestContact)
        let parts = Parts(bytes)
        let transport = transport(bytes, from: parts.end)
        // Nearly always one piece.
        if parts.password.isEmpty && transport.lowerBound == parts.end {
            return bytes.text(parts.start..<transport.upperBound)
        }
        return bytes.text(parts.start..<parts.password.lowerBound)
            + bytes.text(parts.password.upperBound..<parts.end) + bytes.text(transport)
    }

    /// `scheme:user:password@host` (RFC 3261, 19.1.1) in angle brackets or without.
    private struct Parts {
        var start = 0
        /// Where parameters or headers begin.
        var end: Int
        /// From its colon to the `@`; empty when there is none.
        var password: Range<Int>

        init(_ bytes: Span<UInt8>) {
            var colons: (first: Int?, second: Int?)
            var at: Int?
            var hasUser = false
            var end: Int?
            for index in bytes.indices {
                // Behind the end nothing but the `@` of a password counts, and parameters are long.
                if end != nil, hasUser || colons.second == nil { break }
                switch bytes[index] {
                case ASCII.less where end == nil: (start, colons, at) = (index + 1, (nil, nil), nil)
                case ASCII.semicolon, ASCII.greater, ASCII.question: end = end ?? index
                case ASCII.at:
                    hasUser = true
                    if end == nil { at = index }
                case ASCII.colon where end == nil:
                    if colons.first == nil { colons.first = index } else { colons.second = colons.second ?? index }
                default: break
                }
            }
            self.end = end ?? bytes.count
            // The `@` may stand behind a `;` of the password.
            let userEnd = at ?? self.end
            let passwordStart = hasUser ? colons.second ?? userEnd : userEnd
            password = min(passwordStart, userEnd)..<userEnd
        }
    }

    /// Milliseconds as people say them: `340 ms`, `1.2 s`, `40 s`.
    static func duration(_ milliseconds: Int64) -> String {
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let tenths = (milliseconds.addingReportingOverflow(50).partialValue) / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// Where its `;transport=…` is; empty, at `start`, when it has none.
    private static func transport(_ bytes: Span<UInt8>, from start: Int) -> Range<Int> {
        var index = start
        while index < bytes.count, bytes[index] != ASCII.greater {
            let begin = index
            index += 1
            while index < bytes.count, bytes[index] != ASCII.semicolon, bytes[index] != ASCII.greater { index += 1 }
            if index - begin < 20, bytes.part(begin..<index).startsIgnoringCase(with: ";transport=") {
                return begin..<index
            }
        }
        return start..<start
    }
}

extension CallTrace {
    /// One line in plain words.
    public func sentence(of line: TraceLine) -> String {
        let phone = phone(line.device)
        return PrintableText.cleaned(
            line.pushEvent != nil ? pushSentence(line, phone) : legSentence(line, phone) ?? waitSentence(line, phone))
    }

    /// Who a device is; nil when nobody has named it.
    public func introduction(of index: Int) -> String? {
        guard names.indices.contains(index), let name = names[index] else { return nil }
        var parts = [
            name.provider.map { provider in name.app.isEmpty ? provider.name : "\(provider.name) \(name.app)" }
                ?? "a contact"
        ]
        if !name.token.isEmpty { parts.append("token \(name.token)") }
        if !name.instance.isEmpty { parts.append("instance \(name.instance)") }
        return PrintableText.cleaned("phone \(index + 1) is \(parts.joined(separator: ", "))")
    }

    /// What a device is called in sentences.
    func phone(_ device: UInt8) -> String {
        device == TraceLine.nobody ? "a phone" : "phone \(Int(device) + 1)"
    }

    /// The provider of a device by name.
    func provider(_ device: UInt8) -> String {
        let index = Int(device)
        return (names.indices.contains(index) ? names[index]?.provider?.name : nil) ?? "the provider"
    }

    private func pushSentence(_ line: TraceLine, _ phone: String) -> String {
        let event = line.pushEvent?.name ?? ""
        guard let outcome = line.outcome else {
            let way = "pushed through \(provider(line.device)) (\(event))"
            return switch line.cause {
            case .silent: "\(phone) has been silent for \(line.milliseconds) ms: \(way)"
            case .asleep: "\(phone) sleeps: \(way)"
            default: "\(phone) is \(way)"
            }
        }
        if outcome == .accepted {
            return "\(provider(line.device)) accepts the \(event) push to \(phone) after \(line.milliseconds) ms"
        }
        let reason = text(of: line)
        let details = [reason, line.status > 0 ? "HTTP \(line.status)" : ""].filter { !$0.isEmpty }
        return "the \(event) push to \(phone) ends after \(line.milliseconds) ms: \(outcome.name)"
            + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))")
            + (line.flag ? "; its binding is removed" : "")
    }

    private func legSentence(_ line: TraceLine, _ phone: String) -> String? {
        let status = line.status
        return switch line.kind {
        case .rung:
            "\(phone) is rung at \(text(of: line)) (leg \(line.leg)"
                + (line.replacedLeg > 0 ? ", in place of leg \(line.replacedLeg))" : ")")
        case .resent: "leg \(line.leg) to \(phone) is sent again"
        case .progressed where status < 101: "\(phone) has the request (\(status))"
        case .progressed where status < 200: "\(phone) rings (\(status))"
        case .progressed where status < 300: "\(phone) answers (\(status))"
        case .progressed where TraceLine.isUnanswered(line.status): "\(phone) rang and nobody answered (\(status))"
        case .progressed where status < 400: "\(phone) forwards to another number (\(status))"
        case .progressed: "\(phone) declines (\(status))"
        case .legFailed where line.status == CallLeg.merged:
            "\(phone) has the request already, and refuses a second copy (leg \(line.leg), \(status))"
        case .legFailed: "leg \(line.leg) to \(phone) fails (\(status)): no word from the phone"
        default: nil
        }
    }

    private func waitSentence(_ line: TraceLine, _ phone: String) -> String {
        switch line.kind {
        case .awake:
            let isOpen = line.detail == CallContact.Reach.open.rawValue
            return "\(phone) is awake: \(isOpen ? "its connection is open" : "it registered a moment ago")"
        case .asleep: return "\(phone) sleeps"
        case .plain:
            let isBound = line.index.map { names.indices.contains($0) && names[$0]?.provider != nil } ?? false
            return "\(phone) \(isBound ? "cannot be pushed for this" : "has no push binding")"
        case .delayed: return "\(phone) is pushed in \(line.milliseconds) ms unless it answers (pn-timeout)"
        case .putOff:
            let setting = LimitKey.Setting(rawValue: line.detail) ?? .ignoreSame
            return "\(phone) \(setting.words): the next push waits \(line.milliseconds) ms (\(setting.name))"
        case .notPushed: return "\(phone) is not pushed: \(text(of: line))"
        case .silent: return "\(phone) has been silent for \(line.milliseconds) ms"
        case .pushFailed:
            return "no push wakes \(phone): "
                + (line.flag ? "its known contact is rung" : "it has no contact that could be rung")
        case .pushRetried:
            return "\(provider(line.device)) could not take the push to \(phone) yet: its known contact is rung"
        case .dropped: return "the push to \(phone) is dropped if it has not left"
        case .registered: return "\(phone) registers"
        case .announced: return "a phone has registered at \(text(of: line))"
        case .unregistered: return "\(phone) has left: its push binding is gone"
        case .told: return "the caller hears \(line.status)"
        case .held: return "the request is held for up to \(TraceText.duration(Int64(line.milliseconds)))"
        case .copied: return "the same request comes again"
        case .resumed: return "the engine was started anew and goes on with the request"
        case .bindingsLate:
            return "the store has answered after \(line.milliseconds) ms; phones in reach were rung meanwhile"
        case .late: return "\(phone) comes after the end"
        case .endShown: return "\(phone) shows a call that is over: it gets INVITE and CANCEL"
        case .gaveUp:
            return line.flag
                ? "no other phone is waited for"
                : "nobody is left to wait for: the best answer so far, or \(line.status)"
        case .continued:
            let time = TraceText.duration(Int64(line.milliseconds))
            return "the request goes elsewhere; phones that wake within \(time) still ring"
        case .wentOn: return "the dialplan goes on, and nobody says what becomes of the call"
        case .ended: return "the request has ended: \(line.end?.name ?? "")"
        case .pushed, .pushEnded, .rung, .resent, .progressed, .legFailed: return line.kind.name
        }
    }
}
