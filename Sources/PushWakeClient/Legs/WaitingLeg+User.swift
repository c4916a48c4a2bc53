// SPDX-License-Identifier: MIT

internal import PushWakeCore

extension WaitingLeg {
    /// The engine may push for it, or has.
    var isKnown: Bool {
        switch engine {
        case .asked, .watching: true
        case .unasked, .away, .uninvolved: false
        }
    }

    /// Takes over what the host knows of the user.
    mutating func learn(_ user: LegUser) {
        wake.contacts = user.contacts
        for index in wake.contacts.indices where wake.contacts[index].key.isEmpty {
            wake.contacts[index].key = wake.contacts[index].uri
        }
        if !user.callID.isEmpty { wake.callID = user.callID }
        if !user.fromURI.isEmpty {
            (wake.fromURI, wake.fromDisplay, wake.callerKey) = (user.fromURI, user.fromDisplay, user.callerKey)
        }
        if user.seconds > 0 { wake.seconds = user.seconds }
        if user.offersVideo { wake.offersVideo = true }
        wake.scope = user.scope
        ringsAll = ringsAll || user.ringsAll
    }

    /// Contacts that the request may go to without anybody's having registered.
    var reachable: [WakeMessage.Contact] { wake.scope == .others ? [] : wake.contacts }

    /// The request for an engine that has not seen it, its contacts with their legs: from now on these are numbered as ours.
    /// What a phone has refused stands for its contact as long as no later leg is out to it.
    mutating func asResumed() -> WakeMessage {
        var request = wake
        for index in legs.indices where legs[index].isLive || legs[index].refusal > 0 {
            legs[index].engineNumber = legs[index].number
            let leg = legs[index]
            guard leg.state != .queued else { continue }
            var place = request.contacts.firstIndex { $0.key == leg.contact.key }
            if place == nil {
                // A phone at another node, which nobody rings once more.
                var contact = leg.contact
                if contact.uri.isEmpty { contact.uri = contact.key }
                request.contacts.append(contact)
                place = request.contacts.count - 1
            }
            guard let place, leg.isLive || request.contacts[place].leg == 0 || !request.contacts[place].isLegOut else {
                continue
            }
            request.contacts[place].leg = leg.number
            request.contacts[place].legStatus = leg.isLive ? leg.heard : leg.refusal
        }
        return request
    }

    /// Whether a phone that registers here is to be rung although no engine says so: not where it has the request, or has
    /// refused it.
    func mayRing(_ contact: WakeMessage.Contact) -> Bool {
        guard engine != .uninvolved, verdict == nil, left == nil else { return false }
        let isNamed = wake.contacts.contains { $0.key == contact.key }
        guard wake.scope == .user || isNamed == (wake.scope == .contacts) else { return false }
        return !legs.contains { leg in
            leg.contact.key == contact.key && leg.contact.flow == contact.flow
                && (leg.isLive && leg.heard > 0 || leg.state == .out || best > 0 && !leg.isLive)
        }
    }
}

extension LegPolicy {
    /// What a request says for its push, and what a message says at all. `wakes`: false for one that goes to who is
    /// awake alone, such as a notice that a message was read.
    func read(_ bytes: Span<UInt8>, _ request: KeptRequest) -> (WakeMessage, SIPContent, wakes: Bool) {
        var wake = WakeMessage()
        wake.method = request.method
        (wake.callID, wake.cseq, wake.fromTag) = (request.callID, request.cseq, request.fromTag)
        (wake.hostKind, wake.isWaitingLeg) = (host, true)
        let content = request.method == "MESSAGE" ? SIPContent(bytes) : nil
        guard let read = IncomingRequest(file: bytes) else { return (wake, content ?? .none, true) }
        var wakes = true
        switch requests.decision(on: read, hasPURR: !read.purr.isEmpty) {
        case .wakes(let event, let occasion, let seconds):
            (wake.event, wake.occasion, wake.seconds) = (event, occasion, seconds)
        case .nobody, .ends: wakes = host == .dialplan
        }
        (wake.fromURI, wake.fromDisplay, wake.callerKey) = (read.fromURI, read.fromDisplay, read.callerKey)
        wake.toURI = read.toURI
        (wake.contentType, wake.text) = (read.contentType, read.text)
        (wake.offersVideo, wake.requiresReliableAnswers) = (read.offersVideo, read.requiresReliableAnswers)
        wake.purr = read.namingPURR
        return (wake, content ?? .none, wakes)
    }
}
