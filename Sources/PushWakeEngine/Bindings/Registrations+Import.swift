// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem
internal import PushWakeTransport

/// Bindings from another store, as `pushwake bindings export` has written them.
extension Registrations {
    /// What became of the lines of one message.
    private final class Import {
        /// Lines that one answer names, so that it has room for all of them.
        static let named = 400

        var stored: Int64 = 0
        var kept: Int64 = 0
        var present: Int64 = 0
        var over: Int64 = 0
        /// Each with the line of the message, from 0; nil where it is not known.
        var problems: [(index: Int?, text: String)] = []
        var open = 1

        func note(_ fate: Result<Fate, StoreError>, of group: [Binding], line: Int?) {
            switch fate {
            case .success(.stored): stored += Int64(group.count)
            case .success(.kept): kept += Int64(group.count)
            case .success(.present): present += Int64(group.count)
            case .failure(let error): problems.append((line, "\(error)"))
            }
        }
    }

    /// What became of the bindings of one phone: what is here may be newer, or the same.
    private enum Fate { case stored, kept, present }

    /// Stores the bindings of the lines; what is here and newer stays. Lines of one phone stand together.
    func takeBindings(_ question: Question) {
        let outcome = Import()
        var bindings: [Binding] = []
        var fields = question.message
        let now = SystemClock.wallSeconds()
        var index = -1
        var firstLines: [String: Int] = [:]
        while let field = fields.next() {
            guard field.tag == .text else { continue }
            index += 1
            do {
                var binding = try BindingDocument.read(JSONParser.parse(Array(fields.bytes[field.range])))
                if firstLines[binding.aor] == nil { firstLines[binding.aor] = index }
                // Of a clock that ran ahead: what comes later shall be newer.
                binding.registeredAt = min(binding.registeredAt, now)
                if binding.forgetAt > now { bindings.append(binding) } else { outcome.over += 1 }
            } catch let error as BindingDocument.Mistake {
                outcome.problems.append((index, error.message))
            } catch let error as JSONParser.Failure {
                // It was given one line of many: which one, the client knows.
                let place = error.column > 0 ? "column \(error.column): " : ""
                outcome.problems.append((index, place + error.message))
            } catch {
                outcome.problems.append((index, "\(error)"))
            }
        }
        let groups = BindingImport.groups(bindings)
        if store.shared == nil {
            let fates = store.askOwn { (store) throws(StoreError) in
                try store.together { () throws(StoreError) in
                    try groups.map { (group) throws(StoreError) in try Self.take(group, into: store, now) }
                }
            }
            for (index, group) in groups.enumerated() {
                outcome.note(fates.map { $0[index] }, of: group, line: firstLines[group[0].aor])
            }
            return finish(outcome, question)
        }
        for group in groups {
            outcome.open += 1
            store.ask(about: group[0].aor) { (store) throws(StoreError) in
                try Self.take(group, into: store, now)
            } then: { [self] result in
                outcome.note(result, of: group, line: firstLines[group[0].aor])
                finish(outcome, question)
            }
        }
        finish(outcome, question)
    }

    private static func take(
        _ group: [Binding], into store: any BindingStore, _ now: Int64
    ) throws(StoreError) -> Fate {
        let present = try store.bindings(of: group[0].aor, now: now)
        if BindingImport.isPresent(group, in: present) { return .present }
        guard !BindingImport.isOutdated(group, by: present) else { return .kept }
        // As old as it is: by the time of its REGISTER it may give way to what has come since.
        _ = try store.register(group, now: now)
        return .stored
    }

    private func finish(_ outcome: Import, _ question: Question) {
        outcome.open -= 1
        guard outcome.open == 0 else { return }
        question.reply { writer in
            writer.put(.row, 1)
            writer.column("stored", outcome.stored)
            writer.column("same_here", outcome.present)
            writer.column("newer_here", outcome.kept)
            writer.column("over", outcome.over)
            for problem in outcome.problems.prefix(Import.named) {
                writer.put(.row, 1)
                if let index = problem.index { writer.column("index", Int64(index)) }
                writer.column("problem", problem.text)
            }
            writer.put(.row, 1)
            writer.column("problems", Int64(outcome.problems.count))
        }
    }
}
