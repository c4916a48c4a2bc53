// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Answers REGISTERs of phones that belong to a SIP server behind the host.
final class UpstreamService {
    private let context: EngineContext
    private let hosts: HostConnections
    /// Nil where nobody keeps upstream registrations, as in a core without a service.
    var keeper: UpstreamKeeper?

    init(_ context: EngineContext, _ hosts: HostConnections) { (self.context, self.hosts) = (context, hosts) }

    /// A phone registers: what its host has to do comes back, now or later.
    func register(_ question: Question) {
        guard let keeper else { return question.fail("this engine keeps no upstream registrations") }
        let request = UpstreamMessage(question.message, others: context.policy.others)
        let registration = request.registration
        let target: UpstreamTarget
        do throws(UpstreamTarget.Rejection) {
            target = try UpstreamTarget(
                requestURI: request.requestURI, to: request.to, account: registration.upstream, route: request.route,
                servers: keeper.servers)
        } catch {
            return question.reply { writer in
                writer.put(.upstreamAction, UpstreamOrder.Kind.refuse.rawValue)
                writer.put(.handle, Int64(bitPattern: request.handle.number))
                switch error {
                case .forbidden(let text):
                    context.log(
                        .warning,
                        "no upstream registration \(EngineLog.names(request.to, registration.callID)): \(text)")
                    writer.put(.status, 403)
                    writer.put(.reason, "Forbidden")
                case .malformed:
                    writer.put(.status, 400)
                    writer.put(.reason, "Bad Request")
                }
            }
        }
        let contact = context.settings.text(.upperContact)
        let wanted = UpstreamRequest(
            target: target, local: contact.isEmpty ? request.local : contact, username: request.username)
        guard let account = keeper.account(wanted) else {
            return question.fail("there are too many upstream registrations")
        }
        let orders = keeper.register(phone(request, keeper.bindings(account)), wanted, account)
        answer(question, orders, host: request.handle.host)
    }

    private func phone(_ request: UpstreamMessage, _ stored: [Binding]) -> PhoneRegister {
        let registration = request.registration
        let contact = registration.contacts.first
        var phone = PhoneRegister(handle: request.handle, device: request.device)
        phone.isForAll = registration.isWildcard
        phone.isQuery = contact == nil && !registration.isWildcard
        phone.expires =
            contact.flatMap { registration.requestedExpires(of: $0) } ?? registration.expires ?? 3600
        if phone.isQuery { phone.expires = max(phone.expires, 1) }
        phone.authorization = request.authorization
        phone.credential = registration.upstream.credential
        let unbinds = registration.unbinds || context.settings.text(.unregisterPolicy) == "remove"
        phone.leavesBinding = stored.contains { binding in
            guard unbinds else { return true }
            if phone.isForAll { return false }
            return !registration.contacts.contains { contact in
                !contact.instance.isEmpty && contact.instance == binding.instance
                    || Binding.withoutPushParameters(contact.uri) == Binding.withoutPushParameters(binding.contact)
                    || binding.callID == registration.callID
            }
        }
        return phone
    }

    /// A server has answered what a host sent.
    func answered(_ question: Question) {
        let id = UInt64(bitPattern: question.number(.upstreamID))
        guard let keeper, let account = keeper.sender(of: id) else {
            return question.reply { _ in }
        }
        var reader = question.message
        var (status, reason, isFromServer, host) = (0, "", false, UInt64(0))
        while let field = reader.next() {
            switch field.tag {
            case .status: status = Int(clamping: reader.number(field))
            case .reason: reason = reader.text(field)
            case .fromPhone: isFromServer = reader.number(field) != 0
            case .host: host = UInt64(bitPattern: reader.number(field))
            default: break
            }
        }
        var answer = UpstreamAnswerReader(status: status, reason: reason, contactName: account.name)
        reader = question.message
        var name = 0..<0
        while let field = reader.next() {
            if field.tag == .headerName { name = field.range }
            guard field.tag == .headerValue else { continue }
            let bytes = reader.bytes
            answer.header(name: bytes.span.extracting(name), value: bytes.span.extracting(field.range))
        }
        var said = answer.finish()
        said.isSilence = !isFromServer
        let orders = keeper.answered(id, said)
        if question.peer != nil { self.answer(question, orders, host: host) } else { hosts.send(orders) }
    }

    /// Orders for the host that asked come with the reply.
    private func answer(_ question: Question, _ orders: [UpstreamOrder], host: UInt64) {
        hosts.send(orders.filter { $0.host != host })
        question.reply { writer in
            for order in orders where order.host == host { order.encode(into: &writer) }
        }
    }
}

extension UpstreamOrder {
    /// Writes it as fields of a message.
    func encode(into writer: inout MessageWriter) {
        writer.put(.upstreamAction, kind.rawValue)
        writer.put(.account, account.name)
        if handle != 0 { writer.put(.handle, Int64(bitPattern: handle)) }
        switch kind {
        case .send:
            writer.put(.upstreamID, Int64(bitPattern: id))
            writer.put(.callID, callID)
            writer.put(.fromTag, account.fromTag)
            writer.put(.cseq, Int64(cseq))
            writer.put(.requestURI, target.requestURI)
            writer.put(.toURI, target.serverAOR)
            if !target.nextHop.isEmpty { writer.put(.route, target.nextHop) }
        case .accept:
            writer.put(.toURI, target.localURI)
            if let atMost { writer.put(.atMost, Int64(atMost)) }
        case .refuse:
            writer.put(.status, status)
            writer.put(.reason, reason)
        }
        writer.put(.headerLines, headers)
    }
}

/// A phone's REGISTER as its host hands it over.
private struct UpstreamMessage {
    var handle = PhoneRegister.Handle(host: 0, number: 0)
    var requestURI = ""
    var to = ""
    var route = ""
    var local = ""
    var authorization: [String] = []
    /// Who answers challenges, as the phone has it.
    var username: String?
    let registration: Registration
    private static let mostLines = 4

    init(_ message: MessageReader, others: WebhookProviders) {
        var reader = RegistrationReader(others: others)
        var fields = message
        var (host, number, callID) = (UInt64(0), UInt64(0), "")
        var name = 0..<0
        while let field = fields.next() {
            switch field.tag {
            case .host: host = UInt64(bitPattern: fields.number(field))
            case .handle: number = UInt64(bitPattern: fields.number(field))
            case .requestURI: requestURI = fields.text(field)
            case .toURI: to = fields.text(field)
            case .callID: callID = fields.text(field)
            case .route: route = fields.text(field)
            case .local: local = fields.text(field)
            case .headerName: name = field.range
            case .headerValue:
                let bytes = fields.bytes
                reader.header(name: bytes.span.extracting(name), value: bytes.span.extracting(field.range))
                if authorization.count < Self.mostLines,
                    let line = HeaderLine.authorization(
                        name: bytes.span.extracting(name), value: bytes.span.extracting(field.range))
                {
                    authorization.append(line)
                    username = username ?? DigestChallenge.username(inAuthorization: bytes.span.extracting(field.range))
                }
            default: break
            }
        }
        handle = .init(host: host, number: number)
        registration = reader.finish(aor: to, callID: callID, cseq: 1)
    }

    /// The phone among those of its user.
    var device: UpstreamDevice {
        let contact = registration.contacts.first
        return UpstreamDevice(
            instance: contact?.instance ?? "", contact: contact?.uri ?? "", callID: registration.callID)
    }
}
