// SPDX-License-Identifier: MIT

/// One timer that knows when it is due. A class, since it forgets itself when it fires.
public final class DueTimer {
    private let loop: Loop
    private var id: Loop.TimerID?
    /// When it fires (milliseconds, monotonic); `.max` while it is not set.
    public private(set) var due = Int64.max

    /// Not set yet.
    public init(loop: Loop) { self.loop = loop }

    /// It will fire.
    public var isSet: Bool { id != nil }

    /// Runs the action at `time`, instead of what was set before.
    public func set(at time: Int64, _ action: @escaping () -> Void) {
        cancel()
        due = time
        id = loop.schedule(at: time) { [self] in
            (id, due) = (nil, .max)
            action()
        }
    }

    /// The same, unless it is due by then anyway: whoever asks again and again puts nothing off.
    public func set(noLaterThan time: Int64, _ action: @escaping () -> Void) {
        if due > time { set(at: time, action) }
    }

    /// Does not fire.
    public func cancel() {
        if let id { loop.cancel(id) }
        (id, due) = (nil, .max)
    }
}
