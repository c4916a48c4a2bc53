// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Who gets a push for an event, and why others get none: one push per device.
struct PushPlan {
    struct Skipped: Equatable {
        let index: Int
        let reason: String
    }

    /// Indices into the bindings.
    private(set) var pushes: [Int] = []
    private(set) var skipped: [Skipped] = []

    init(_ event: PushEvent, _ bindings: [Binding], isAwake: [Bool]) {
        for index in bindings.indices { pushes.append(index); _ = isAwake }
        pushes = bindings.indices.filter { !isAwake[$0] }
    }
}
