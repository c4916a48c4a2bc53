// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem

/// Bindings that an operator removes, by name or with a contact of the registrar.
extension Registrations {
    /// Removes by hand what the conditions name, which name a user.
    func remove(_ question: Question, _ conditions: ListingConditions) {
        remove(question, conditions.aor) { [outcomes] (store) throws(StoreError) in
            try BindingListing(conditions, outcomes, now: SystemClock.wallSeconds()).remove(in: store)
        }
    }

    private func remove(
        _ question: Question, _ aor: String, _ work: @escaping (any BindingStore) throws(StoreError) -> [Binding]
    ) {
        store.ask(about: aor, work) { [self] result in
            switch result {
            case .success(let removed):
                context.statistics.countRemoval(.byHand, removed.count)
                requests.dispatch(requests.unbound(removed, of: aor))
                upstream.keeper?.removed(removed, of: aor)
                question.reply { writer in
                    writer.put(.row, 1)
                    writer.column("removed", Int64(removed.count))
                }
            case .failure(let error): question.fail(error)
            }
        }
    }

    /// A contact is pushed no more when the operator has taken it from the registrar (RFC 8599, 5.5).
    func contactRemoved(_ message: MessageReader) {
        let (aor, uri) = (EngineClient.text(.aor, in: message), EngineClient.text(.contactURI, in: message))
        var conditions = ListingConditions()
        do throws(ListingConditions.Mistake) {
            try conditions.add("aor", aor)
            if !uri.isEmpty { try conditions.add("contact", uri) }
        } catch {
            // Without the contact, which has the token.
            let user = PrintableText.logValue(aor)
            return context.log(
                .warning,
                "a contact of \(user) was removed, and its push binding stays: it cannot be read; see pushwake.remove")
        }
        store.ask(about: aor) { [outcomes, conditions] (store) throws(StoreError) in
            try BindingListing(conditions, outcomes, now: SystemClock.wallSeconds()).remove(in: store)
        } then: { [self] result in
            let error: StoreError
            switch result {
            case .success(let removed):
                context.statistics.countRemoval(.byHand, removed.count)
                return requests.dispatch(requests.unbound(removed, of: aor))
            case .failure(let failure): error = failure
            }
            let user = PrintableText.logValue(aor)
            let what =
                uri.isEmpty
                ? "the contacts of \(user) were removed, and their push bindings stay"
                : "a contact of \(user) was removed, and its push binding stays"
            context.log(.warning, "\(what): \(error)")
        }
    }
}
