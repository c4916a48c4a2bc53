// SPDX-License-Identifier: MIT

/// Reads a REGISTER header by header, in any order, and says what it wants of push.
///
///     var reader = RegistrationReader()
///     for each header { reader.header(name: name, value: value) }
///     let registration = reader.finish(aor: aor, callID: callID, cseq: cseq)
///
/// Headers are raw: folded lines and any bytes are allowed, spans are borrowed for the call only, and
/// headers about other things cost a look at their name. Nothing is refused as a whole: what cannot be
/// used becomes a problem, and its Contact binds nothing.
public struct RegistrationReader: ~Copyable {
    private var registration = Registration()
    private var mpush = PushRequest.none
    private var mpushProblem: Problem?
    private var hasMPush = false
    private var hasForeignToken = false
    private var hasExpires = false
    private let others: WebhookProviders

    /// Has read nothing yet. Push services that are not known are problems, unless `others` has them served.
    public init(others: WebhookProviders = .none) { self.others = others }

    /// What the caller knows better than the headers: those are not read for it.
    public mutating func know(aor: String, callID: String, cseq: UInt32) {
        registration.aor = aor
        registration.callID = callID
        registration.cseq = cseq
    }

    /// Takes one header; names may be compact ones.
    public mutating func header(name: Span<UInt8>, value: Span<UInt8>) {
        guard let known = HeaderName(name) else { return }
        guard value.count <= SIPLimits.longestHeader else {
            refuse(known)
            return
        }
        if value.hasControls(), HeaderFolding.isPresent(in: value) {
            let line = HeaderFolding.unfold(value)
            take(known, line.span)
        } else {
            take(known, value)
        }
    }

    /// Ends the reading. What the caller knows better than the headers goes first: `aor` is To otherwise.
    public consuming func finish(
        aor: String? = nil, callID: String? = nil, cseq: UInt32? = nil
    ) -> Registration {
        if let aor { registration.aor = aor }
        if let callID { registration.callID = callID }
        if let cseq { registration.cseq = cseq }
        checkWildcard()
        joinMPush()
        reportForeignToken()
        completeBindings()
        // Moved out, not copied: a copy would count a reference for each of its texts.
        var finished = Registration()
        swap(&finished, &registration)
        return finished
    }
}

// MARK: - Headers

extension RegistrationReader {
    private mutating func take(_ name: HeaderName, _ value: Span<UInt8>) {
        switch name {
        case .contact: readContacts(value)
        case .expires:
            if !hasExpires { registration.expires = value.trimmed().decimal() }
            hasExpires = true
        case .to:
            if registration.aor.isEmpty { registration.aor = NameAddress(value)?.addressOfRecord ?? "" }
        case .from: break
        case .callID:
            if registration.callID.isEmpty { registration.callID = shortText(value) }
        case .cseq:
            var cursor = Cursor(value)
            cursor.skipBlanks()
            if registration.cseq == 0 {
                registration.cseq = value.part(cursor.skip(while: ByteClass.digit.contains)).decimal() ?? 0
            }
        case .userAgent: registration.userAgent = shortText(value)
        case .featureCaps:
            if !FeatureCaps.read(value).isEmpty { registration.isPushedUpstream = true }
        case .xMPush: readMPush(value)
        case .xToken: hasForeignToken = true
        case .xPIID: readCredential(value)
        case .upperServer: registration.upstream.server = readServer(value, name)
        case .upperServerDomain: registration.upstream.domain = readServer(value, name)
        case .upperProxy: registration.upstream.proxy = readServer(value, name)
        }
    }

    /// A header that is too long to be read.
    private mutating func refuse(_ name: HeaderName) {
        switch name {
        case .contact, .xMPush, .xToken, .featureCaps, .xPIID, .upperServer, .upperServerDomain, .upperProxy:
            let problem = TokenRules.tooLong(name.text, SIPLimits.longestHeader)
            if name == .xMPush { refuseMPush(problem) } else { report(problem) }
        default: break
        }
    }

    private mutating func readMPush(_ value: Span<UInt8>) {
        if hasMPush {
            return refuseMPush(Problem(.duplicateParameter, "X-MPUSH", "comes twice; send it once"))
        }
        hasMPush = true
        do throws(Problem) {
            mpush = try MPush.read(value)
        } catch {
            refuseMPush(error)
        }
    }

    private mutating func refuseMPush(_ problem: Problem) {
        mpush = .unusable
        mpushProblem = problem
        report(problem)
    }

    private mutating func readCredential(_ value: Span<UInt8>) {
        let value = value.trimmed()
        guard value.count == 32 || value.count == 64, !value.contains(where: { !ByteClass.hex.contains($0) }) else {
            report(
                Problem(
                    .badCredential, "X-PIID",
                    "is not an MD5 of 32 hex digits and was ignored; send MD5(user:realm:password)"))
            return
        }
        registration.upstream.credential = Secret(value.text())
    }

    private mutating func readServer(_ value: Span<UInt8>, _ name: HeaderName) -> String {
        let value = value.trimmed()
        guard value.count <= SIPLimits.longestApp, !value.contains(where: { !ByteClass.host.contains($0) }) else {
            report(Problem(.badServer, name.text, "is not a host or host:port and was ignored; send sip.example.com"))
            return ""
        }
        return value.text()
    }

    private func shortText(_ value: Span<UInt8>) -> String {
        let value = value.trimmed()
        return value.part(0..<min(value.count, SIPLimits.longestName)).text()
    }

    private mutating func report(_ problem: Problem) {
        if registration.problems.count < SIPLimits.mostProblems { registration.problems.append(problem) }
    }
}

// MARK: - Contacts

extension RegistrationReader {
    private mutating func readContacts(_ value: Span<UInt8>) {
        var contacts = ContactCursor(value)
        do throws(ContactCursor.Failure) {
            while let element = try contacts.next() {
                guard registration.contacts.count < SIPLimits.mostContacts else {
                    let most = SIPLimits.mostContacts
                    report(Problem(.tooManyContacts, "Contact", "comes more than \(most) times; the rest was ignored"))
                    return
                }
                if element.isWildcard {
                    registration.isWildcard = true
                } else {
                    readContact(value, element)
                }
            }
        } catch {
            report(Self.problem(error))
        }
    }

    private mutating func readContact(_ value: Span<UInt8>, _ element: ContactElement) {
        var contact = RegisteredContact(uri: value.text(element.uri))
        do throws(Problem) {
            // First the header's own: `expires` must be known even where push makes no sense.
            try readHeaderParameters(value, element, into: &contact)
            try readPush(value, element, into: &contact)
            if element.isBroken {
                throw Problem(.controlByte, "Contact", "holds a space or control byte in its URI; escape or remove it")
            }
        } catch {
            contact.push = .unusable
            contact.problem = error
            report(error)
        }
        registration.contacts.append(contact)
    }

    private mutating func readPush(
        _ value: Span<UInt8>, _ element: ContactElement, into contact: inout RegisteredContact
    ) throws(Problem) {
        let uri = SIPURI(value, in: element.uri)
        var push = PushParameters()
        var last = 0..<0
        var parameters = ParameterCursor(value, in: uri.parameters, of: .uri)
        while let parameter = parameters.next() {
            try push.add(parameter, of: value, in: .uri)
            last = parameter.name
        }
        if parameters.isAtURIHeaders, PushParameterName(value.part(last)) != nil {
            throw Problem(
                .unescapedCharacter, value.text(last), "is followed by a bare '?', which ends the parameters; write %3F"
            )
        }
        parameters = ParameterCursor(value, in: element.parameters, of: .header)
        while let parameter = parameters.next() { try push.add(parameter, of: value, in: .header) }

        contact.purr = push[.purr] ?? ""
        contact.providerName = push[.provider] ?? ""
        var warnings: [Problem] = []
        contact.push = try PushRequest.read(push, others: others, warnings: &warnings)
        for warning in warnings { report(warning) }
        if contact.push == .none, !push.foreignToken.isEmpty {
            let problem = Self.foreign(push.foreignToken)
            contact.problem = problem
            report(problem)
        }
    }

    private static func foreign(_ name: String) -> Problem {
        Problem(
            .foreignParameter, name,
            "means nothing here; the app has to send pn-provider, pn-param and pn-prid (RFC 8599) in the Contact URI")
    }

    private func readHeaderParameters(
        _ value: Span<UInt8>, _ element: ContactElement, into contact: inout RegisteredContact
    ) throws(Problem) {
        var parameters = ParameterCursor(value, in: element.parameters, of: .header)
        while let parameter = parameters.next() {
            let name = value.part(parameter.name)
            if name.equalsIgnoringCase("expires") {
                contact.expires = value.part(parameter.value).decimal() ?? contact.expires
            } else if name.equalsIgnoringCase("reg-id") {
                contact.flowNumber = value.part(parameter.value).decimal() ?? 0
            } else if name.equalsIgnoringCase("+sip.instance") {
                contact.instance = try Self.instance(value.part(parameter.value))
            } else if name.equalsIgnoringCase("+sip.pnsreg") || name.equalsIgnoringCase("+sip.pnsreq") {
                contact.refreshesItself = true
            }
        }
    }

    private static func instance(_ raw: Span<UInt8>) throws(Problem) -> String {
        guard raw.count <= SIPLimits.longestName else {
            throw TokenRules.tooLong("+sip.instance", SIPLimits.longestName)
        }
        guard !raw.contains(where: { ASCII.isControl($0) }) else { throw TokenRules.problem(.control, "+sip.instance") }
        return NameAddress.unquote(raw)
    }

    private static func problem(_ failure: ContactCursor.Failure) -> Problem {
        switch failure {
        case .openQuote: Problem(.malformedContact, "Contact", "has a quote that never ends; close it")
        case .openURI: Problem(.malformedContact, "Contact", "has '<' without '>'; close the URI")
        case .noURI: Problem(.malformedContact, "Contact", "has no URI where one must be; send <sip:user@host>")
        }
    }
}

// MARK: - The whole

extension RegistrationReader {
    /// `*` stands alone (RFC 3261, 10.2.2); with other contacts nobody can say what is meant.
    private mutating func checkWildcard() {
        guard registration.isWildcard, !registration.contacts.isEmpty else { return }
        registration.isWildcard = false
        report(Problem(.malformedContact, "Contact", "has '*' beside other contacts; send '*' alone"))
    }

    /// Gives the token of X-MPUSH to the Contact it comes with. A Contact that speaks of push itself, null
    /// token included, counts more; one that only asks what is supported does not.
    private mutating func joinMPush() {
        let isDecided = registration.contacts.contains { contact in
            switch contact.push {
            case .none, .query: false
            case .bind, .unbind, .unusable: true
            }
        }
        if isDecided { return markBesideMPush() }
        switch mpush {
        case .none, .query: break
        case .unusable:
            if let index = mpushContact() { registration.contacts[index].problem = mpushProblem }
        case .unbind:
            if registration.contacts.isEmpty {
                registration.unbindings.append(.init(instance: "", contact: "", callID: registration.callID))
            }
            for index in registration.contacts.indices { registration.contacts[index].push = .unbind }
        case .bind:
            guard let index = mpushContact() else {
                if !registration.isWildcard {
                    report(
                        Problem(
                            .missingContact, "X-MPUSH", "comes without a Contact; send it where the phone registers"))
                }
                return
            }
            registration.contacts[index].push = mpush
        }
    }

    /// A token in a header of which nobody here knows what it is of, and nothing that says it.
    private mutating func reportForeignToken() {
        guard hasForeignToken, registration.contacts.allSatisfy({ $0.push == .none }) else { return }
        let problem = Self.foreign(HeaderName.xToken.text)
        if let index = mpushContact(), registration.contacts[index].problem == nil {
            registration.contacts[index].problem = problem
        }
        report(problem)
    }

    /// Tokens that count more than that of the header belong to an app of Mizutech's all the same (`PayloadSign`).
    private mutating func markBesideMPush() {
        guard hasMPush, mpush != .unbind else { return }
        for index in registration.contacts.indices {
            guard case .bind(var bindings) = registration.contacts[index].push else { continue }
            for place in bindings.indices { bindings[place].attributes[MPush.attribute] = "1" }
            registration.contacts[index].push = .bind(bindings)
        }
    }

    private func mpushContact() -> Int? {
        registration.contacts.indices.first { !registration.isRemoval(registration.contacts[$0]) }
            ?? registration.contacts.indices.first
    }

    /// Fills in what bindings share with their Contact and REGISTER.
    private mutating func completeBindings() {
        for index in registration.contacts.indices {
            switch registration.contacts[index].push {
            case .none, .unusable: break
            case .query:
                // Without a token this is how a phone says that it wants no more pushes (RFC 8599, 4.1.2).
                if registration.isRemoval(registration.contacts[index]) { registration.contacts[index].push = .none }
            case .unbind:
                let contact = registration.contacts[index]
                registration.unbindings.append(
                    .init(instance: contact.instance, contact: contact.uri, callID: registration.callID))
            case .bind(var bindings):
                // The list leaves its place meanwhile, so that it is not copied.
                registration.contacts[index].push = .none
                for position in bindings.indices { complete(&bindings[position], of: index) }
                registration.contacts[index].push = .bind(bindings)
            }
        }
    }

    private func complete(_ binding: inout Binding, of index: Int) {
        binding.change { texts in
            texts.aor = registration.aor
            texts.contact = registration.contacts[index].uri
            texts.instance = registration.contacts[index].instance
            texts.callID = registration.callID
        }
        binding.cseq = registration.cseq
        binding.refreshesItself = registration.contacts[index].refreshesItself
        binding.flowNumber = registration.contacts[index].boundFlow
    }
}

extension RegistrationReader {
    /// Whether a header of this name tells this reader anything.
    public static func reads(_ name: Span<UInt8>) -> Bool { HeaderName(name) != nil }

    /// Whether the name of a header may be one about push, by its length and first letters. It leaves nearly all of them
    /// out: who asks about many asks this first, which is not even a call.
    @inlinable @inline(__always)
    public static func mayNamePush(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        // In either case, and as a compact form.
        return switch name[0] | 0x20 {
        case UInt8(ascii: "c"): name.count == 7 && name[1] | 0x20 == UInt8(ascii: "o")
        case UInt8(ascii: "m"): name.count == 1
        case UInt8(ascii: "f"): name.count == 12
        case UInt8(ascii: "x"): name.count > 5
        default: false
        }
    }

    /// Whether a header may say something about push, or have something wrong with it. Where it is false for all headers of
    /// a REGISTER, what `finish` gives has no push, no account, and no problem but that of too many contacts: it need not be
    /// read. Makes no texts.
    public static func mayConcernPush(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        guard mayNamePush(name) else { return false }
        return switch HeaderName(name) {
        case nil, .expires, .to, .from, .callID, .cseq, .userAgent: false
        case .contact:
            !PlainContact.isOne(value)
                && (value.count > SIPLimits.longestHeader || value.hasControls() || namesPush(value))
        case .featureCaps, .xMPush, .xToken, .xPIID, .upperServer, .upperServerDomain, .upperProxy: true
        }
    }

    private static func namesPush(_ value: Span<UInt8>) -> Bool {
        var contacts = ContactCursor(value)
        do throws(ContactCursor.Failure) {
            while let element = try contacts.next() {
                guard !element.isWildcard, !element.isBroken else { return true }
                let uri = SIPURI(value, in: element.uri)
                if namesPush(value, in: uri.parameters, of: .uri) { return true }
                if namesPush(value, in: element.parameters, of: .header) { return true }
            }
            return false
        } catch {
            return true
        }
    }

    private static func namesPush(_ value: Span<UInt8>, in range: Range<Int>, of place: ParameterCursor.Place) -> Bool {
        var parameters = ParameterCursor(value, in: range, of: place)
        while let parameter = parameters.next() {
            // A value that nobody would send may be an instance that is too long.
            if parameter.value.count > SIPLimits.longestName { return true }
            if PushParameterName.isAboutPush(value.part(parameter.name)) { return true }
        }
        return false
    }
}
