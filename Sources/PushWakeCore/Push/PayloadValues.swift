// SPDX-License-Identifier: MIT

/// The values that one push puts into its template.
public struct PayloadValues: Sendable {
    /// What is given up, step by step, when a payload is too long; each step includes those before.
    /// The call id is not among them.
    enum Sacrifice: UInt8, CaseIterable, Sendable {
        case longText = 1, text, title, displayName, deviceDetails, addresses
    }

    let binding: Binding
    let content: PushContent
    let settings: PayloadSettings
    /// `voip`, `alert` or `background`.
    let pushType: String
    /// Seconds, after the provider's cap.
    let timeToLive: UInt32
    /// Seconds since 1970.
    let now: Int64
    var sacrifice: Sacrifice?

    /// Bytes that are left of a long text.
    private static let shortTextBytes = 512

    /// Gathers what a template may ask for; `now` in seconds since 1970.
    public init(
        binding: Binding, content: PushContent, settings: PayloadSettings = PayloadSettings(),
        pushType: String = "alert", timeToLive: UInt32? = nil, now: Int64 = 0
    ) {
        self.binding = binding
        self.content = content
        self.settings = settings
        self.pushType = pushType
        self.timeToLive = timeToLive ?? content.timeToLive
        self.now = now
    }

    /// Appends the value of one field, escaped for its place; numbers need no escape.
    func append(_ field: PayloadField, _ escape: TextEscape, to out: inout [UInt8]) {
        switch field {
        case .type: Decimal.append(UInt64(mizutechType), to: &out)
        case .apnsPriority: Decimal.append(content.event == .call ? UInt64(10) : 5, to: &out)
        case .timeToLive: Decimal.append(UInt64(timeToLive), to: &out)
        case .badge: Decimal.append(UInt64(settings.badge), to: &out)
        case .sentAt: Decimal.append(content.sentAt, to: &out)
        case .expiresAt: Decimal.append(now.addingReportingOverflow(Int64(timeToLive)).partialValue, to: &out)
        case .date: appendDate(escape, to: &out)
        case .title: appendTitle(escape, to: &out)
        case .message, .body: appendBody(escape, to: &out)
        default: escape.append(text(of: field), to: &out)
        }
    }

    private func text(of field: PayloadField) -> Substring {
        switch field {
        case .package: APNsTopic.bundle(of: binding.app)
        case .token: binding.token[...]
        case .toUser: isGivenUp(.addresses) ? "" : SIPAddressParts.user(of: content.toURI)
        case .toURI: isGivenUp(.addresses) ? "" : content.toURI[...]
        case .event: content.event.name[...]
        case .callID: content.callID[...]
        case .priority: content.event == .refresh ? "normal" : "high"
        case .notificationPriority: content.event == .call ? "PRIORITY_MAX" : "PRIORITY_HIGH"
        case .pushType: pushType[...]
        case .text: messageText
        case .instance: isGivenUp(.deviceDetails) ? "" : binding.instance[...]
        case .selector: isGivenUp(.deviceDetails) ? "" : (binding.wishes["pn-selector"] ?? "")[...]
        case .sound: isGivenUp(.deviceDetails) ? "" : sound[...]
        case .alertSound: isGivenUp(.deviceDetails) ? "empty" : (wishedSound ?? "empty")[...]
        case .alertKey: PayloadWording.alertKey(of: content.event, wishes: keyWishes)[...]
        default: callerText(of: field)
        }
    }

    private func callerText(of field: PayloadField) -> Substring {
        switch field {
        case .caller: caller
        case .fromUser: fromUser
        case .fromDisplay: fromDisplay
        case .fromURI: fromURI
        case .fromHost: isHidden ? "" : SIPAddressParts.host(of: content.fromURI)
        case .fromLabel: fromDisplay.isEmpty ? fromURI : fromDisplay
        case .chatRoom: content.event == .groupChat ? fromUser : ""
        default: ""
        }
    }

    // MARK: - Values

    /// Mizutech's apps know 0 to 4: later events take the number whose handling fits.
    private var mizutechType: UInt8 {
        switch content.event {
        case .call, .chat, .cancel, .custom, .refresh: content.event.rawValue
        case .missed: PushEvent.custom.rawValue
        case .answeredElsewhere: PushEvent.cancel.rawValue
        case .groupChat: PushEvent.chat.rawValue
        }
    }

    private var isHidden: Bool { !settings.showsCaller || isGivenUp(.addresses) }
    private var fromURI: Substring { isHidden ? "" : content.fromURI[...] }
    private var fromUser: Substring { isHidden ? "" : SIPAddressParts.user(of: content.fromURI) }
    private var fromDisplay: Substring {
        settings.showsCaller && !isGivenUp(.displayName) ? content.fromDisplay[...] : ""
    }
    private var caller: Substring {
        let name = fromDisplay
        return name.isEmpty ? fromUser : name
    }

    private var messageText: Substring {
        if isGivenUp(.text) { return "" }
        guard isGivenUp(.longText), content.text.utf8.count > Self.shortTextBytes else { return content.text[...] }
        let end = content.text.utf8.index(content.text.startIndex, offsetBy: Self.shortTextBytes)
        // Rounds down, so that no character is cut in two.
        return content.text[..<content.text.unicodeScalars.index(after: content.text.unicodeScalars.index(before: end))]
    }

    private var keyWishes: Binding.Wishes { isGivenUp(.title) ? Binding.Wishes() : binding.wishes }

    private var wishedSound: String? {
        switch content.event {
        case .call: binding.wishes["pn-call-snd"]
        default: binding.wishes["pn-msg-snd"]
        }
    }

    private var sound: String {
        if let wished = wishedSound { return wished }
        switch content.event {
        case .call: return settings.callSound
        case .chat, .groupChat: return settings.messageSound
        default: return settings.otherSound
        }
    }

    private func isGivenUp(_ step: Sacrifice) -> Bool {
        guard let sacrifice else { return false }
        return sacrifice.rawValue >= step.rawValue
    }

    // MARK: - Composed texts

    private func appendTitle(_ escape: TextEscape, to out: inout [UInt8]) {
        if !content.title.isEmpty, !isGivenUp(.title) {
            // "null" removes the title, as in Mizutech's sendpush.
            if content.title != "null" { escape.append(content.title[...], to: &out) }
            return
        }
        append(PayloadWording.title(of: content.event), about: content.event == .call ? fromUser : caller, escape, &out)
    }

    private func appendBody(_ escape: TextEscape, to out: inout [UInt8]) {
        let text = messageText
        switch content.event {
        case .chat where !text.isEmpty, .custom: escape.append(text, to: &out)
        default: append(PayloadWording.body(of: content.event), about: caller, escape, &out)
        }
    }

    private func append(
        _ phrase: PayloadWording.Phrase, about name: Substring, _ escape: TextEscape, _ out: inout [UInt8]
    ) {
        guard !name.isEmpty else { return escape.append(phrase.withoutName[...], to: &out) }
        escape.append(phrase.before[...], to: &out)
        escape.append(name, to: &out)
        escape.append(phrase.after[...], to: &out)
    }

    private func appendDate(_ escape: TextEscape, to out: inout [UInt8]) {
        if case .percent = escape {
            var date: [UInt8] = []
            Decimal.appendDate(now, to: &date)
            escape.append(String(decoding: date, as: UTF8.self)[...], to: &out)
        } else {
            Decimal.appendDate(now, to: &out)
        }
    }
}
