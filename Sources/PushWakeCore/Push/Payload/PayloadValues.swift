// SPDX-License-Identifier: MIT

/// The values that one push puts into its template.
public struct PayloadValues: Sendable {
    /// What is given up, step by step, when a payload is too long; each step includes those before.
    /// The call id is not among them.
    enum Sacrifice: UInt8, CaseIterable, Sendable {
        case longTexts = 1, text, title, displayName, deviceDetails, addresses
    }

    private let push: Push
    let settings: PayloadSettings
    /// `voip`, `alert` or `background`.
    let pushType: String
    /// Seconds, after the provider's cap.
    let timeToLive: UInt32
    /// Seconds since 1970.
    let now: Int64
    var sacrifice: Sacrifice?
    /// Bytes of the user part in `content.fromURI`: most payloads ask for it several times.
    private let fromUserBytes: Range<Int>

    /// Bytes that are left of a long message, and of a long name or title: nobody reads more of it.
    private static let shortTextBytes = 512
    private static let shortNameBytes = 128
    /// Seconds.
    private static let leastUse: Int64 = 60

    /// Gathers what a template may ask for; `now` in seconds since 1970.
    public init(
        binding: Binding, content: PushContent, settings: PayloadSettings = PayloadSettings(),
        pushType: String = "alert", timeToLive: UInt32? = nil, now: Int64 = 0
    ) {
        self.init(Push(binding, content), settings, pushType: pushType, timeToLive: timeToLive, now: now)
    }

    /// The same for a push that somebody has.
    init(_ push: Push, _ settings: PayloadSettings, pushType: String, timeToLive: UInt32? = nil, now: Int64) {
        self.push = push
        self.settings = settings
        self.pushType = pushType
        self.timeToLive = timeToLive ?? push.content.timeToLive
        self.now = now
        fromUserBytes = SIPAddressParts.user(of: push.content.fromURI.utf8.span)
    }

    private var binding: Binding { push.binding }
    private var content: PushContent { push.content }

    /// Appends the value of one field, escaped for its place; numbers need no escape.
    func append(_ field: PayloadField, _ escape: TextEscape, to out: inout [UInt8]) {
        switch field {
        case .type: Decimal.append(UInt64(mizutechType), to: &out)
        case .apnsPriority: Decimal.append(content.event == .call ? UInt64(10) : 5, to: &out)
        case .timeToLive: Decimal.append(UInt64(timeToLive), to: &out)
        case .badge: Decimal.append(UInt64(settings.badge), to: &out)
        case .mutableContent: Decimal.append(isMutable ? UInt64(1) : 0, to: &out)
        case .sentAt: Decimal.append(content.sentAt != 0 ? content.sentAt : now, to: &out)
        case .expiresAt: Decimal.append(expiresAt, to: &out)
        case .date: appendDate(escape, to: &out)
        case .title: appendTitle(escape, to: &out)
        case .message, .body: appendBody(escape, to: &out)
        case .package: escape.append(package, to: &out)
        case .certificate: escape.append(certificate, to: &out)
        case .platform: escape.append(PayloadWording.platform(of: binding), to: &out)
        case .provider: escape.append(binding.providerName, to: &out)
        case .kind: escape.append(content.event == .call ? "call" : "message", to: &out)
        case .token: escape.append(binding.token, to: &out)
        case .event: escape.append(content.event.name, to: &out)
        case .media: escape.append(content.hasVideo ? "video" : "audio", to: &out)
        case .navigate: escape.append(settings.navigate, to: &out)
        case .fromTag: escape.append(isHidden ? "" : content.fromTag, to: &out)
        // Google's keys of the legacy interface, which is gone.
        case .legacyKey: break
        case .callID: escape.append(content.callID, to: &out)
        case .pushType: escape.append(pushType, to: &out)
        case .text: escape.append(messageText, to: &out)
        case .caller: appendCaller(escape, &out)
        case .fromUser: appendFromUser(escape, &out)
        case .fromDisplay: escape.append(fromDisplay, to: &out)
        case .fromURI: escape.append(fromURI, to: &out)
        case .fromLabel: escape.append(fromDisplay.isEmpty ? fromURI : fromDisplay, to: &out)
        case .fromHost: appendFromHost(escape, &out)
        case .chatRoom: if content.event == .groupChat { appendFromUser(escape, &out) }
        case .toUser: appendToUser(escape, &out)
        case .toURI: escape.append(isGivenUp(.addresses) ? "" : content.toURI, to: &out)
        default: escape.append(chosenText(of: field), to: &out)
        }
    }

    /// Texts that settings, attributes and the event decide.
    private func chosenText(of field: PayloadField) -> String {
        let hasDetails = !isGivenUp(.deviceDetails)
        switch field {
        case .priority: return content.isUrgent(settings) ? "high" : "normal"
        case .notificationPriority: return notificationPriority
        case .instance: return hasDetails ? binding.instance : ""
        case .selector: return hasDetails ? binding.attributes[.selector] ?? "" : ""
        case .sound: return hasDetails ? sound : ""
        case .alertSound: return hasDetails ? soundAttribute ?? "empty" : "empty"
        case .alertKey: return PayloadWording.alertKey(of: content.event, content.occasion, attributes: keyAttributes)
        default: return ""
        }
    }

    // MARK: - Values

    /// Mizutech's apps know 0 to 4: later events take the number whose handling fits.
    private var mizutechType: UInt8 {
        switch content.event {
        case .call, .chat, .cancel, .custom, .refresh: content.event.rawValue
        case .missed, .voicemail, .refer: PushEvent.custom.rawValue
        case .answeredElsewhere: PushEvent.cancel.rawValue
        case .groupChat: PushEvent.chat.rawValue
        }
    }

    /// An extension of the app's may change what is shown.
    private var isMutable: Bool {
        switch (settings.mutableContent, content.event) {
        case (.automatic, _), (.messages, .chat), (.messages, .groupChat), (.messages, .missed): true
        case (.messages, _), (.never, _): false
        }
    }

    /// When an app may drop the push. What an alert gets as its expiration at Apple does not count: a call rings on
    /// all the same. A push that is for now or never has a minute to arrive.
    private var expiresAt: Int64 {
        if content.endsAt != 0 { return content.endsAt }
        let seconds = content.timeToLive == 0 ? Self.leastUse : Int64(content.timeToLive)
        return now.addingReportingOverflow(seconds).partialValue
    }

    private var notificationPriority: String {
        if content.event == .call { return "PRIORITY_MAX" }
        return content.isUrgent(settings) || content.event == .refresh ? "PRIORITY_HIGH" : "PRIORITY_DEFAULT"
    }

    private var package: String {
        binding.provider == .apns ? String(APNsTopic.bundle(of: binding.app)) : binding.app
    }

    /// What Flexisip names its certificates after: topic and world of an Apple token; the app of any other.
    private var certificate: String {
        guard binding.provider == .apns else { return binding.app }
        let isSandbox = binding.environment.isSandbox(ifStandard: settings.usesSandbox)
        let isVoIP = content.event == .call && binding.service != .remote
        return package + (isVoIP ? ".voip" : "") + (isSandbox ? ".dev" : ".prod")
    }

    private var isHidden: Bool { !settings.showsCaller || isGivenUp(.addresses) }
    private var fromURI: String { isHidden ? "" : content.fromURI }
    private var fromDisplay: String {
        settings.showsCaller && !isGivenUp(.displayName) ? short(content.fromDisplay, Self.shortNameBytes) : ""
    }
    private var messageText: String { isGivenUp(.text) ? "" : short(content.text, Self.shortTextBytes) }

    /// A text as it is, or its beginning when long texts are given up; no character is cut in two.
    private func short(_ text: String, _ most: Int) -> String {
        guard isGivenUp(.longTexts), text.utf8.count > most else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: most)
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }

    private var keyAttributes: Binding.Attributes { isGivenUp(.title) ? Binding.Attributes() : binding.attributes }

    private var soundAttribute: String? {
        switch content.event {
        case .call: binding.attributes[.callSound]
        default: binding.attributes[.messageSound]
        }
    }

    private var sound: String {
        if let own = soundAttribute { return own }
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

    private func appendCaller(_ escape: TextEscape, _ out: inout [UInt8]) {
        let name = fromDisplay
        if name.isEmpty {
            appendFromUser(escape, &out)
        } else {
            escape.append(name, to: &out)
        }
    }

    private func appendTitle(_ escape: TextEscape, to out: inout [UInt8]) {
        if !content.title.isEmpty, !isGivenUp(.title) {
            // "null" removes the title, as in Mizutech's sendpush.
            if content.title != "null" { escape.append(short(content.title, Self.shortNameBytes), to: &out) }
            return
        }
        let phrase = PayloadWording.title(of: content.event, content.occasion)
        guard phrase.isAboutSomebody, hasCaller else { return escape.append(phrase.withoutName, to: &out) }
        escape.append(phrase.before, to: &out)
        // Mizutech names the number in the title of a call, and the person everywhere else.
        if content.event == .call, hasFromUser { appendFromUser(escape, &out) } else { appendCaller(escape, &out) }
        escape.append(phrase.after, to: &out)
    }

    private func appendBody(_ escape: TextEscape, to out: inout [UInt8]) {
        let text = messageText
        if content.event == .custom || content.event == .chat && !text.isEmpty {
            return escape.append(text, to: &out)
        }
        let phrase = PayloadWording.body(of: content.event, content.occasion)
        guard phrase.isAboutSomebody, hasCaller else { return escape.append(phrase.withoutName, to: &out) }
        escape.append(phrase.before, to: &out)
        appendCaller(escape, &out)
        escape.append(phrase.after, to: &out)
    }

    private var hasFromUser: Bool { !isHidden && !fromUserBytes.isEmpty }
    private var hasCaller: Bool { !fromDisplay.isEmpty || hasFromUser }

    private func appendFromUser(_ escape: TextEscape, _ out: inout [UInt8]) {
        guard !isHidden else { return }
        escape.append(content.fromURI.utf8.span.extracting(fromUserBytes), to: &out)
    }

    private func appendFromHost(_ escape: TextEscape, _ out: inout [UInt8]) {
        guard !isHidden else { return }
        let uri = content.fromURI.utf8.span
        escape.append(uri.extracting(SIPAddressParts.host(of: uri)), to: &out)
    }

    private func appendToUser(_ escape: TextEscape, _ out: inout [UInt8]) {
        guard !isGivenUp(.addresses) else { return }
        let uri = content.toURI.utf8.span
        escape.append(uri.extracting(SIPAddressParts.user(of: uri)), to: &out)
    }

    private func appendDate(_ escape: TextEscape, to out: inout [UInt8]) {
        if case .percent = escape {
            var date: [UInt8] = []
            Decimal.appendDate(now, to: &date)
            escape.append(String(decoding: date, as: UTF8.self), to: &out)
        } else {
            Decimal.appendDate(now, to: &out)
        }
    }
}
