// SPDX-License-Identifier: MIT

/// The values that one push puts into its template.
public struct PayloadValues: Sendable {
    let push: Push
    let context: PayloadContext

    /// Gathers what a template may ask for; `now` in seconds since 1970.
    public init(
        binding: Binding, content: PushContent, settings: PayloadSettings = PayloadSettings(),
        pushType: String = "alert", timeToLive: UInt32? = nil, now: Int64 = 0
    ) {
        push = Push(binding, content)
        context = PayloadContext(of: push, settings, pushType: pushType, timeToLive: timeToLive, now: now)
    }
}

/// What is known of a push beside the push itself, and the values that a template gets from both. It holds no push: who has
/// one hands it over with each question, and none of its texts is copied.
struct PayloadContext: Sendable {
    /// What is given up, step by step, when a payload is too long; each step includes those before.
    /// The call id is not among them. `text`: its end, and that of long names.
    enum Sacrifice: UInt8, CaseIterable, Sendable {
        case text = 1, title, displayName, deviceDetails, addresses
    }

    let settings: PayloadSettings
    /// `voip`, `alert` or `background`.
    let pushType: String
    /// Seconds, after the provider's cap.
    let timeToLive: UInt32
    /// Seconds since 1970.
    let now: Int64
    var sacrifice: Sacrifice?
    /// Bytes that are left of a text whose end is given up.
    var textBytes = 0
    /// Bytes of the user part in `content.fromURI`: most payloads ask for it several times.
    private let fromUserBytes: Range<Int>

    /// Bytes that are left of a long name or title: nobody reads more of it.
    private static let shortNameBytes = 128
    /// Seconds.
    private static let leastUse: Int64 = 60

    /// Gathers what a template may ask for; `now` in seconds since 1970.
    init(of push: Push, _ settings: PayloadSettings, pushType: String, timeToLive: UInt32? = nil, now: Int64) {
        self.settings = settings
        self.pushType = pushType
        self.timeToLive = timeToLive ?? push.content.timeToLive
        self.now = now
        fromUserBytes = SIPAddressParts.user(of: push.content.fromURI.utf8.span)
    }

    /// Appends the value of one field, escaped for its place; numbers need no escape. Leaves no room where there was too
    /// little. What most templates ask for is taken from where it lies.
    func append(_ field: PayloadField, of push: Push, _ escape: TextEscape, to out: inout OutputSpan<UInt8>) {
        switch field {
        case .type: Decimal.append(UInt64(mizutechType(push)), to: &out)
        case .apnsPriority: Decimal.append(push.content.event == .call ? UInt64(10) : 5, to: &out)
        case .timeToLive: Decimal.append(UInt64(timeToLive), to: &out)
        case .badge: Decimal.append(UInt64(settings.badge), to: &out)
        case .mutableContent: Decimal.append(isMutable(push) ? UInt64(1) : 0, to: &out)
        case .mutableNotice: Decimal.append(isMutable(push) || isKnownNotice(push) ? UInt64(1) : 0, to: &out)
        case .video: escape.append(push.content.hasVideo ? "true" : "false", to: &out)
        case .sentAt: Decimal.append(push.content.sentAt != 0 ? push.content.sentAt : now, to: &out)
        case .expiresAt: Decimal.append(expiresAt(push), to: &out)
        case .date: appendDate(escape, &out)
        case .title: appendTitle(push, escape, to: &out)
        case .message, .body: appendBody(push, escape, to: &out)
        case .package: escape.append(package(push), to: &out)
        case .certificate: escape.append(certificate(push), to: &out)
        case .platform: escape.append(PayloadWording.platform(of: push.binding), to: &out)
        case .provider: escape.append(push.binding.providerName, to: &out)
        case .kind: escape.append(push.content.event == .call ? "call" : "message", to: &out)
        case .token: escape.append(push.binding.token, to: &out)
        case .event: escape.append(push.content.event.name, to: &out)
        case .media: escape.append(push.content.hasVideo ? "video" : "audio", to: &out)
        case .navigate: escape.append(settings.navigate, to: &out)
        case .fromTag: if !isHidden { escape.append(push.content.fromTag.utf8.span, to: &out) }
        // Google's keys of the legacy interface, which is gone.
        case .legacyKey: break
        case .callID: escape.append(push.content.callID.utf8.span, to: &out)
        case .pushType: escape.append(pushType, to: &out)
        case .text: escape.append(messageText(push), to: &out)
        case .caller: appendCaller(push, escape, &out)
        case .fromUser: appendFromUser(push, escape, &out)
        case .fromDisplay: appendFromDisplay(push, escape, &out)
        case .fromURI: if !isHidden { escape.append(push.content.fromURI.utf8.span, to: &out) }
        case .fromLabel: escape.append(fromDisplay(push).isEmpty ? fromURI(push) : fromDisplay(push), to: &out)
        case .fromHost: appendFromHost(push, escape, &out)
        case .chatRoom: if push.content.event == .groupChat { appendFromUser(push, escape, &out) }
        case .toUser: appendToUser(push, escape, &out)
        case .toURI: if !isGivenUp(.addresses) { escape.append(push.content.toURI.utf8.span, to: &out) }
        default: escape.append(chosenText(of: field, push), to: &out)
        }
    }

    /// Texts that settings, attributes and the event decide.
    private func chosenText(of field: PayloadField, _ push: Push) -> String {
        let hasDetails = !isGivenUp(.deviceDetails)
        switch field {
        case .priority: return push.content.isUrgent(settings) ? "high" : "normal"
        case .notificationPriority: return notificationPriority(push)
        case .instance: return hasDetails ? push.binding.instance : ""
        case .selector: return hasDetails ? push.binding.attributes[.selector] ?? "" : ""
        case .sound: return hasDetails ? sound(push) : ""
        case .alertSound: return hasDetails ? chosenSound(push) ?? "empty" : "empty"
        case .callSound: return hasDetails ? chosenSound(push) ?? "" : ""
        case .alertKey:
            return PayloadWording.alertKey(
                of: push.content.event, push.content.occasion, attributes: keyAttributes(push))
        default: return ""
        }
    }

    // MARK: - Values

    /// Mizutech's apps know 0 to 4: later events take the number whose handling fits.
    private func mizutechType(_ push: Push) -> UInt8 {
        switch push.content.event {
        case .call, .chat, .cancel, .custom, .refresh: push.content.event.rawValue
        case .missed, .voicemail, .refer: PushEvent.custom.rawValue
        case .answeredElsewhere: PushEvent.cancel.rawValue
        case .groupChat: PushEvent.chat.rawValue
        }
    }

    /// An extension of the app's may change what is shown. That of Linphone suppresses what it finds no message for
    /// (linphone-iphone, `NotificationService.swift`).
    private func isMutable(_ push: Push) -> Bool {
        push.content.event == .chat || push.content.event == .groupChat
    }

    /// Linphone's extension knows this notice by its string, and the app has no words for it without the extension.
    private func isKnownNotice(_ push: Push) -> Bool {
        push.content.event == .voicemail
            && push.binding.attributes[.waitingText].map { $0 == PayloadWording.waitingKey } ?? true
    }

    /// What a call is called where only a UUID will do: an app makes the same one of the Call-ID in its INVITE.
    static func uuid(ofCall callID: String) -> NameUUID { NameUUID(of: callID.utf8.span, in: callSpace) }

    /// 345198a0-fbeb-40ca-a578-6948d80653dd, drawn by chance. Apps know it: it must not change.
    private static let callSpace = NameUUID(high: 0x3451_98A0_FBEB_40CA, low: 0xA578_6948_D806_53DD)

    /// When an app may drop the push. What an alert gets as its expiration at Apple does not count: a call rings on
    /// all the same. A push that is for now or never has a minute to arrive.
    private func expiresAt(_ push: Push) -> Int64 {
        if push.content.endsAt != 0 { return push.content.endsAt }
        let seconds = push.content.timeToLive == 0 ? Self.leastUse : Int64(push.content.timeToLive)
        return now.addingReportingOverflow(seconds).partialValue
    }

    private func notificationPriority(_ push: Push) -> String {
        if push.content.event == .call { return "PRIORITY_MAX" }
        return push.content.isUrgent(settings) || push.content.event == .refresh ? "PRIORITY_HIGH" : "PRIORITY_DEFAULT"
    }

    private func package(_ push: Push) -> String {
        push.binding.provider == .apns ? String(APNsTopic.bundle(of: push.binding.app)) : push.binding.app
    }

    /// What Flexisip names its certificates after: topic and world of an Apple token; the app of any other.
    private func certificate(_ push: Push) -> String {
        guard push.binding.provider == .apns else { return push.binding.app }
        let isSandbox = push.binding.environment.isSandbox(ifStandard: settings.usesSandbox)
        let isVoIP = push.content.event == .call && push.binding.service != .remote
        return package(push) + (isVoIP ? ".voip" : "") + (isSandbox ? ".dev" : ".prod")
    }

    private var isHidden: Bool { !settings.showsCaller || isGivenUp(.addresses) }
    private func fromURI(_ push: Push) -> String { isHidden ? "" : push.content.fromURI }
    private func fromDisplay(_ push: Push) -> String {
        settings.showsCaller && !isGivenUp(.displayName) ? short(push.content.fromDisplay, Self.shortNameBytes) : ""
    }
    private func messageText(_ push: Push) -> String {
        short(push.content.text, sacrifice == .text ? textBytes : 0)
    }

    /// A text as it is, or the characters of its beginning that have so many bytes when texts are given up.
    private func short(_ text: String, _ most: Int) -> String {
        guard isGivenUp(.text), text.utf8.count > most else { return text }
        let end = text.characterEnds(within: most).last ?? 0
        return String(text[..<text.utf8.index(text.startIndex, offsetBy: end)])
    }

    private func keyAttributes(_ push: Push) -> Binding.Attributes {
        isGivenUp(.title) ? Binding.Attributes() : push.binding.attributes
    }

    private func soundAttribute(_ push: Push) -> String? {
        switch push.content.event {
        case .call: push.binding.attributes[.callSound]
        default: push.binding.attributes[.messageSound]
        }
    }

    private func sound(_ push: Push) -> String {
        soundAttribute(push) ?? settings.sound(of: push.content.event)
    }

    /// The sound that the phone asked for, or the operator; nil where neither did.
    private func chosenSound(_ push: Push) -> String? {
        if let own = soundAttribute(push) { return own }
        let sound = settings.sound(of: push.content.event)
        return sound == PayloadSettings.usualSound ? nil : sound
    }

    private func isGivenUp(_ step: Sacrifice) -> Bool {
        guard let sacrifice else { return false }
        return sacrifice.rawValue >= step.rawValue
    }

    // MARK: - Composed texts

    private func appendFromDisplay(_ push: Push, _ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        if sacrifice == nil {
            if settings.showsCaller { escape.append(push.content.fromDisplay.utf8.span, to: &out) }
        } else {
            escape.append(fromDisplay(push), to: &out)
        }
    }

    private func appendCaller(_ push: Push, _ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        let name = fromDisplay(push)
        if name.isEmpty {
            appendFromUser(push, escape, &out)
        } else {
            escape.append(name, to: &out)
        }
    }

    private func appendTitle(_ push: Push, _ escape: TextEscape, to out: inout OutputSpan<UInt8>) {
        if !push.content.title.isEmpty, !isGivenUp(.title) {
            // "null" removes the title, as in Mizutech's sendpush.
            if push.content.title != "null" { escape.append(short(push.content.title, Self.shortNameBytes), to: &out) }
            return
        }
        let phrase = PayloadWording.title(of: push.content.event, push.content.occasion)
        guard phrase.isAboutSomebody, hasCaller(push) else { return escape.append(phrase.withoutName, to: &out) }
        escape.append(phrase.before, to: &out)
        // Mizutech names the number in the title of a call, and the person everywhere else.
        if push.content.event == .call, hasFromUser {
            appendFromUser(push, escape, &out)
        } else {
            appendCaller(push, escape, &out)
        }
        escape.append(phrase.after, to: &out)
    }

    private func appendBody(_ push: Push, _ escape: TextEscape, to out: inout OutputSpan<UInt8>) {
        let text = messageText(push)
        if push.content.event == .custom || push.content.event == .chat && !text.isEmpty {
            return escape.append(text, to: &out)
        }
        let phrase = PayloadWording.body(of: push.content.event, push.content.occasion)
        guard phrase.isAboutSomebody, hasCaller(push) else { return escape.append(phrase.withoutName, to: &out) }
        escape.append(phrase.before, to: &out)
        appendCaller(push, escape, &out)
        escape.append(phrase.after, to: &out)
    }

    private var hasFromUser: Bool { !isHidden && !fromUserBytes.isEmpty }
    private func hasCaller(_ push: Push) -> Bool { !fromDisplay(push).isEmpty || hasFromUser }

    private func appendFromUser(_ push: Push, _ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        guard !isHidden else { return }
        escape.append(push.content.fromURI.utf8.span.extracting(fromUserBytes), to: &out)
    }

    private func appendFromHost(_ push: Push, _ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        guard !isHidden else { return }
        let uri = push.content.fromURI.utf8.span
        escape.append(uri.extracting(SIPAddressParts.host(of: uri)), to: &out)
    }

    private func appendToUser(_ push: Push, _ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        guard !isGivenUp(.addresses) else { return }
        let uri = push.content.toURI.utf8.span
        escape.append(uri.extracting(SIPAddressParts.user(of: uri)), to: &out)
    }

    private func appendDate(_ escape: TextEscape, _ out: inout OutputSpan<UInt8>) {
        var date: [UInt8] = []
        Decimal.appendDate(now, to: &date)
        escape.append(date.span, to: &out)
    }
}
