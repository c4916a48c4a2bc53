// SPDX-License-Identifier: MIT

extension CallStory {
    /// One line in plain words.
    public func sentence(of line: StoryLine) -> String {
        let phone = phone(line.device)
        return PrintableText.cleaned(
            line.pushEvent != nil ? pushSentence(line, phone) : legSentence(line, phone) ?? waitSentence(line, phone))
    }

    /// Who a device is; nil when nobody has named it.
    public func introduction(of place: Int) -> String? {
        guard names.indices.contains(place), let name = names[place] else { return nil }
        var parts = [
            name.provider.map { provider in name.app.isEmpty ? provider.name : "\(provider.name) \(name.app)" }
                ?? "a contact"
        ]
        if !name.token.isEmpty { parts.append("token \(name.token)") }
        if !name.instance.isEmpty { parts.append("instance \(name.instance)") }
        return PrintableText.cleaned("phone \(place + 1) is \(parts.joined(separator: ", "))")
    }

    /// What a device is called in sentences.
    func phone(_ device: UInt8) -> String {
        device == StoryLine.nobody ? "a phone" : "phone \(Int(device) + 1)"
    }

    /// The provider of a device by name.
    func provider(_ device: UInt8) -> String {
        let place = Int(device)
        return (names.indices.contains(place) ? names[place]?.provider?.name : nil) ?? "the provider"
    }

    private func pushSentence(_ line: StoryLine, _ phone: String) -> String {
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

    private func legSentence(_ line: StoryLine, _ phone: String) -> String? {
        let status = line.status
        return switch line.kind {
        case .rung:
            "\(phone) is rung at \(text(of: line)) (leg \(line.leg)"
                + (line.replacedLeg > 0 ? ", in place of leg \(line.replacedLeg))" : ")")
        case .resent: "leg \(line.leg) to \(phone) is sent again"
        case .progressed where status < 101: "\(phone) has the request (\(status))"
        case .progressed where status < 200: "\(phone) rings (\(status))"
        case .progressed where status < 300: "\(phone) answers (\(status))"
        case .progressed where status == 408: "\(phone) rang and nobody answered (408)"
        case .progressed: "\(phone) declines (\(status))"
        case .legFailed: "leg \(line.leg) to \(phone) fails (\(status)): no word from the phone"
        default: nil
        }
    }

    private func waitSentence(_ line: StoryLine, _ phone: String) -> String {
        switch line.kind {
        case .awake:
            let isOpen = line.detail == CallContact.Reach.open.rawValue
            return "\(phone) is awake: \(isOpen ? "its connection is open" : "it registered a moment ago")"
        case .asleep: return "\(phone) sleeps"
        case .plain:
            let isBound = line.place.map { names.indices.contains($0) && names[$0]?.provider != nil } ?? false
            return "\(phone) \(isBound ? "cannot be pushed for this" : "has no push binding")"
        case .delayed: return "\(phone) is pushed in \(line.milliseconds) ms unless it answers (pn-timeout)"
        case .putOff:
            return "\(phone) was pushed a moment ago: the next push waits \(line.milliseconds) ms (ignore_same)"
        case .notPushed: return "\(phone) is not pushed: \(text(of: line))"
        case .silent: return "\(phone) has been silent for \(line.milliseconds) ms"
        case .pushFailed:
            return "no push wakes \(phone): "
                + (line.flag ? "its known contact is rung" : "it has no contact that could be rung")
        case .pushRetried:
            return "\(provider(line.device)) could not take the push to \(phone) yet: its known contact is rung"
        case .dropped: return "the push to \(phone) is dropped if it has not left"
        case .registered: return "\(phone) registers"
        case .unregistered: return "\(phone) unregisters"
        case .told: return "the caller hears \(line.status)"
        case .held: return "the request is held for up to \(StoryText.duration(Int64(line.milliseconds)))"
        case .copied: return "the same request comes again"
        case .resumed: return "the engine was started anew and goes on with the request"
        case .late: return "\(phone) comes after the end"
        case .endShown: return "\(phone) shows a call that is over: it gets INVITE and CANCEL"
        case .gaveUp:
            return line.flag
                ? "no other phone is waited for"
                : "nobody is left to wait for: the best answer so far, or \(line.status)"
        case .continued:
            let time = StoryText.duration(Int64(line.milliseconds))
            return "the request goes elsewhere; phones that wake within \(time) still ring"
        case .ended: return "the request has ended: \(line.end?.name ?? "")"
        case .pushed, .pushEnded, .rung, .resent, .progressed, .legFailed: return line.kind.name
        }
    }
}
