// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore

/// Tokens over HTTP: what Acrobits' apps report, and bindings for everybody else.
struct TokenEndpoints {
    let registrations: Registrations
    let questions: EngineQuestions

    var endpoints: [HTTPEndpoint] {
        let reporter = "/v1/acrobits/push-token"
        let removal = "/v1/acrobits/account-removal"
        return [
            // Without PostData the apps send a GET with everything in the URL.
            HTTPEndpoint(method: "POST", path: reporter, audience: .accounts, run: guarded(reportAcrobits)),
            HTTPEndpoint(
                method: "GET", path: reporter, audience: .accounts, changes: true, run: guarded(reportAcrobits)),
            HTTPEndpoint(method: "POST", path: removal, audience: .accounts, run: guarded(removeAcrobits)),
            HTTPEndpoint(
                method: "GET", path: removal, audience: .accounts, changes: true, run: guarded(removeAcrobits)),
            HTTPEndpoint(method: "GET", path: "/v1/bindings", audience: .accounts, run: guarded(list)),
            HTTPEndpoint(method: "POST", path: "/v1/bindings", audience: .accounts, run: guarded(report)),
            HTTPEndpoint(method: "DELETE", path: "/v1/bindings", audience: .accounts, run: guarded(remove)),
        ]
    }

    private typealias Handler = (HTTPCall, HTTPFields) throws(HTTPFields.Problem) -> Void

    /// Reads the fields, and answers what is wrong with them.
    private func guarded(_ handler: @escaping Handler) -> (HTTPCall) -> Void {
        { call in
            do throws(HTTPFields.Problem) {
                try handler(call, try HTTPFields(call.request))
            } catch {
                call.answer(.problem(error.status, error.message))
            }
        }
    }

    // MARK: Acrobits

    private func reportAcrobits(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) {
        let aor = try account(call, fields)
        let report = try report(fields)
        store(report.bindings, aor, call)
    }

    private func removeAcrobits(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) {
        let aor = try account(call, fields)
        let report = try report(fields)
        remove(report.bindings, aor, "account removed in the app", call)
    }

    private func report(_ fields: HTTPFields) throws(HTTPFields.Problem) -> TokenReport {
        do throws(Problem) {
            return try TokenReport(acrobits: { fields.first(of: $0) })
        } catch {
            throw HTTPFields.Problem(status: 400, message: "\(error.parameter): \(error.message)")
        }
    }

    // MARK: Bindings

    private func report(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) {
        try fields.refuseUnknown(but: Self.account.union(Self.token).union(["instance", "contact"]))
        let aor = try account(call, fields)
        store([try binding(fields)], aor, call)
    }

    /// Who is meant.
    private static let account: Set = ["aor", "username", "domain", "password"]
    private static let conditions = ["user", "provider", "verdict", "age"]
    private static let token: Set = [
        "provider", "app", "token", "environment", "service", "selector", "p256dh", "auth",
    ]

    private func remove(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) {
        try fields.refuseAllBut(Self.account.union(Self.conditions).union(Self.token))
        let aor = try account(call, fields)
        if fields["token"] != nil { return remove([try binding(fields)], aor, "by hand over HTTP", call) }
        let conditions = try conditions(fields, aor: aor)
        ask(call, .removeFound, conditions.lines) { rows, _ in
            .json(200) { writer in
                writer.name("removed")
                writer.integer(rows.first?.first { $0.name == "removed" }?.number ?? 0)
            }
        }
    }

    private func list(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) {
        try fields.refuseAllBut(Self.account.union(Self.conditions).union(["cursor"]))
        var aor = fields["aor"] ?? ""
        if call.identity != .operating { aor = try account(call, fields) }
        let conditions = try conditions(fields, aor: aor)
        ask(call, .find, conditions.lines, cursor: fields["cursor"] ?? "") { rows, cursor in
            .json(200) { writer in
                writer.name("bindings")
                // An account is told nothing of others.
                let rows = call.identity == .operating ? rows : rows.map { $0.filter { $0.name != "shared_with" } }
                EngineQuestions.write(rows, &writer)
                if let cursor {
                    writer.name("cursor")
                    writer.string(cursor)
                }
            }
        }
    }

    private func conditions(_ fields: HTTPFields, aor: String) throws(HTTPFields.Problem) -> ListingConditions {
        var conditions = ListingConditions()
        do throws(ListingConditions.Mistake) {
            if !aor.isEmpty { try conditions.add("aor", aor) }
            for name in Self.conditions {
                if let value = fields[name] { try conditions.add(name, value) }
            }
        } catch {
            throw HTTPFields.Problem(status: 400, message: error.message)
        }
        return conditions
    }

    // MARK: Parts

    /// Whose tokens are meant; an account may only mean its own.
    private func account(_ call: HTTPCall, _ fields: HTTPFields) throws(HTTPFields.Problem) -> String {
        var aor = fields["aor"] ?? ""
        if aor.isEmpty, let user = fields["username"] {
            aor = fields["domain"].map { "\(user)@\($0)" } ?? user
        }
        if aor.isEmpty, case .user(let name, _)? = call.identity { aor = name }
        guard !aor.isEmpty else {
            throw HTTPFields.Problem(status: 400, message: "whose? give aor, or username and domain")
        }
        // A URI would be stored, and no call would find it: no registrar has a colon before the user.
        guard aor.utf8.count <= 1024, !aor.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }), !Self.isURI(aor) else {
            throw HTTPFields.Problem(status: 400, message: "aor: write user or user@domain, as the registrar has it")
        }
        guard call.identity?.mayActFor(aor) == true else {
            throw HTTPFields.Problem(status: 403, message: "this is for the account itself, and for operators")
        }
        return aor
    }

    private static func isURI(_ aor: String) -> Bool {
        let start = aor.prefix(5).lowercased()
        return ["sip:", "sips:", "tel:"].contains { start.hasPrefix($0) }
    }

    private func binding(_ fields: HTTPFields) throws(HTTPFields.Problem) -> Binding {
        let name = try fields.required("provider")
        guard let provider = Provider.allCases.first(where: { $0.name == name }) else {
            let names = Provider.allCases.map(\.name).joined(separator: ", ")
            throw HTTPFields.Problem(status: 400, message: "provider: write one of \(names)")
        }
        var environment = Environment.standard
        if let word = fields["environment"] {
            guard let known = Environment.allCases.first(where: { $0.name == word }) else {
                throw HTTPFields.Problem(status: 400, message: "environment: write production or sandbox")
            }
            environment = known
        }
        var service: TokenUse?
        if let word = fields["service"] {
            guard let known = TokenUse.allCases.first(where: { $0.name == word }) else {
                throw HTTPFields.Problem(status: 400, message: "service: write voip or remote")
            }
            service = known
        }
        var attributes = Binding.Attributes()
        for (field, attribute) in PushParameterName.givenByHand {
            attributes[attribute] = fields[field]
        }
        do throws(Problem) {
            return try TokenReport.binding(
                provider, environment, app: fields["app"] ?? "", token: try Self.token(fields), service: service,
                attributes: attributes, instance: fields["instance"] ?? "", contact: fields["contact"] ?? "")
        } catch {
            throw HTTPFields.Problem(status: 400, message: "\(error.parameter): \(error.message)")
        }
    }

    private static func token(_ fields: HTTPFields) throws(Problem) -> String {
        guard let token = fields["token"] else { throw Problem(.missingParameter, "token", "is missing") }
        return token
    }

    private func store(_ bindings: [Binding], _ aor: String, _ call: HTTPCall) {
        registrations.report(bindings, of: aor) { result in
            switch result {
            case .failure: call.answer(.problem(503, "the store cannot be written"))
            case .success((0, let problem)): call.answer(.problem(422, problem))
            case .success((let stored, _)): call.answer(Self.count("stored", stored))
            }
        }
    }

    private func remove(_ bindings: [Binding], _ aor: String, _ reason: String, _ call: HTTPCall) {
        registrations.remove(bindings, of: aor, reason: reason) { result in
            switch result {
            case .failure: call.answer(.problem(503, "the store cannot be written"))
            case .success(let removed): call.answer(Self.count("removed", removed))
            }
        }
    }

    private static func count(_ name: String, _ number: Int) -> ServedAnswer {
        .json(200) { writer in
            writer.name(name)
            writer.integer(Int64(number))
        }
    }

    private func ask(
        _ call: HTTPCall, _ query: EngineQuery, _ argument: String, cursor: String = "",
        _ answer: @escaping (_ rows: [[EngineField]], _ cursor: String?) -> ServedAnswer
    ) {
        questions.ask(query, argument, cursor: cursor) { reply in
            if let problem = reply.problem { return call.answer(problem) }
            guard case .answer(let message) = reply else { return }
            call.answer(answer(EngineClient.rows(of: message), EngineClient.cursor(of: message)))
        }
    }
}
