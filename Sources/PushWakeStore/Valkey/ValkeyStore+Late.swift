// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// REGISTERs that could not be stored, and are later.
extension ValkeyStore {
    /// REGISTERs of the backlog under way at once.
    private static let lateAtOnce = 64

    func keep(_ question: ValkeyQuestion) {
        guard late.keep(question, of: question.aor) else { return }
        if late.count == 1 { say(false, "\(access.address): REGISTERs wait to be stored") }
        pauseLate()
    }

    private func pauseLate() {
        guard !isLatePaused else { return }
        isLatePaused = true
        loop.schedule(after: 1000) { [weak self] in
            guard let self, isLatePaused else { return }
            isLatePaused = false
            storeLate()
        }
    }

    func storeLate() {
        while !isLatePaused, lateUnderWay < Self.lateAtOnce {
            let taken = late.take { aor in
                servers.isResponsive(about: keys.image(aor), within: options.timeout)
            }
            guard !taken.isEmpty else { break }
            taken.forEach(addLate)
        }
        if late.count > 0, !isLatePaused, lateUnderWay == 0 { pauseLate() }
    }

    func addLate(_ taken: RegisterBacklog<ValkeyQuestion>.Taken) {
        lateUnderWay += 1
        add(
            taken.entry.again { [weak self] failure in
                guard let self else { return }
                lateUnderWay -= 1
                switch failure {
                case nil:
                    if backlog == 0 { say(false, "\(access.address): all REGISTERs that waited are stored") }
                    storeLate()
                case .unusable?, .full?:
                    late.putBack(taken)
                    pauseLate()
                // It would not be stored tomorrow either.
                case .corrupt?: storeLate()
                }
            })
    }
}
