// SPDX-License-Identifier: MIT

internal import PushWakeCore

extension WakeMessage {
    /// Writes all but what names the request to its host, and its contacts: what `init(decoding:)` reads. `text`: what phones
    /// are to read.
    package func put(into writer: inout MessageWriter, text: String) {
        writer.put(.event, Int64(event.rawValue))
        if occasion != .usual { writer.put(.occasion, Int64(occasion.rawValue)) }
        if !purr.isEmpty { writer.put(.purr, purr) }
        writer.put(.seconds, seconds)
        writer.put(.aor, aor)
        if !domain.isEmpty { writer.put(.domain, domain) }
        writer.put(.method, method)
        writer.put(.callID, callID)
        writer.put(.cseq, Int64(cseq))
        if hostKind != .proxy { writer.put(.hostKind, Int64(hostKind.rawValue)) }
        if isWaitingLeg { writer.put(.waitingLeg, 1) }
        if scope != .user { writer.put(.scope, Int64(scope.rawValue)) }
        writer.put(.fromURI, fromURI)
        writer.put(.fromDisplay, fromDisplay)
        if !callerKey.isEmpty { writer.put(.callerKey, callerKey) }
        writer.put(.fromTag, fromTag)
        writer.put(.toURI, toURI)
        if offersVideo { writer.put(.video, 1) }
        if requiresReliableAnswers { writer.put(.reliable, 1) }
        if !contentType.isEmpty { writer.put(.contentType, contentType) }
        if !text.isEmpty { writer.put(.text, text) }
    }
}
