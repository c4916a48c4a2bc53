// SPDX-License-Identifier: MIT

/// Timers by deadline: a binary heap whose cancelled entries wait at their place until they come up.
struct TimerHeap {
    private struct Entry {
        let deadline: Int64
        /// Order of arrival, so that equal deadlines fire in that order.
        let serial: UInt64
        let slot: Int
    }

    private struct Slot {
        var serial: UInt64 = 0
        var action: (() -> Void)?
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// That of the timer that was set last.
    private(set) var lastSerial: UInt64 = 0
    private var cancelled = 0

    /// Timers that will fire.
    var count: Int { entries.count - cancelled }

    /// Deadline of the next timer; nil when there is none. Nobody need wake up for cancelled ones.
    mutating func nextDeadline() -> Int64? {
        while let first = entries.first, slots[first.slot].action == nil {
            release(first.slot)
            removeFirst()
            cancelled -= 1
        }
        return entries.first?.deadline
    }

    mutating func insert(deadline: Int64, action: @escaping () -> Void) -> Loop.TimerID {
        lastSerial &+= 1
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = slots.count
            slots.append(Slot())
        }
        slots[slot] = Slot(serial: lastSerial, action: action)
        entries.append(Entry(deadline: deadline, serial: lastSerial, slot: slot))
        siftUp(entries.count - 1)
        return Loop.TimerID(slot: slot, serial: lastSerial)
    }

    mutating func cancel(_ id: Loop.TimerID) {
        guard slots.indices.contains(id.slot), slots[id.slot].serial == id.serial, slots[id.slot].action != nil else {
            return
        }
        slots[id.slot].action = nil
        cancelled += 1
        if cancelled > 64, cancelled > entries.count / 2 { dropCancelled() }
    }

    /// Takes the next action that is due and was set no later than `serial`; nil when there is none.
    mutating func popDue(now: Int64, upTo serial: UInt64 = .max) -> (() -> Void)? {
        while let first = entries.first, first.deadline <= now, first.serial <= serial {
            let action = slots[first.slot].action
            release(first.slot)
            removeFirst()
            if let action { return action }
            cancelled -= 1
        }
        return nil
    }

    private mutating func release(_ slot: Int) {
        slots[slot] = Slot()
        freeSlots.append(slot)
    }

    private mutating func dropCancelled() {
        var kept: [Entry] = []
        for entry in entries {
            if slots[entry.slot].action == nil { release(entry.slot) } else { kept.append(entry) }
        }
        // A sorted array is a heap.
        entries = kept.sorted(by: Self.isEarlier)
        cancelled = 0
    }

    private mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        siftDown()
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard Self.isEarlier(entries[child], entries[parent]) else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var least = 2 * parent + 1
            guard least < entries.count else { return }
            if least + 1 < entries.count, Self.isEarlier(entries[least + 1], entries[least]) { least += 1 }
            guard Self.isEarlier(entries[least], entries[parent]) else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }

    private static func isEarlier(_ a: Entry, _ b: Entry) -> Bool {
        (a.deadline, a.serial) < (b.deadline, b.serial)
    }
}
