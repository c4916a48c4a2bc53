// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// What waiting legs look at, by time: a binary heap. One whose time has changed has an older entry as well, which whoever
/// looks at `first` takes out.
struct LegTimers {
    enum Subject: Hashable {
        case transaction(KeptRequest.Transaction)
        case leg(UInt64)
    }

    private var entries: [(at: Int64, subject: Subject)] = []

    /// The earliest; nil when there is none.
    var first: (at: Int64, subject: Subject)? { entries.first }

    mutating func add(_ at: Int64, _ subject: Subject) {
        entries.append((at, subject))
        var index = entries.count - 1
        while index > 0, entries[index].at < entries[(index - 1) / 2].at {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Takes one whose time has come.
    mutating func take(due now: Int64) -> Subject? {
        guard let first = entries.first, first.at <= now else { return nil }
        removeFirst()
        return first.subject
    }

    mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        sink()
    }

    private mutating func sink() {
        var index = 0
        while true {
            let (left, right) = (2 * index + 1, 2 * index + 2)
            var least = index
            if left < entries.count, entries[left].at < entries[least].at { least = left }
            if right < entries.count, entries[right].at < entries[least].at { least = right }
            guard least != index else { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}
