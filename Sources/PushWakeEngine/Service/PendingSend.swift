// SPDX-License-Identifier: MIT

/// A `send` whose sender waits for the outcomes.
final class PendingSend {
    let request: MessageReader
    let peer: EnginePeer
    var pending: Int
    var results: [PushResult] = []

    init(request: MessageReader, peer: EnginePeer, pending: Int) {
        self.request = request
        self.peer = peer
        self.pending = pending
    }
}
