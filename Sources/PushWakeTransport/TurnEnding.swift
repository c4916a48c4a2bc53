// SPDX-License-Identifier: MIT

/// Something that gathers work during a turn and does it once, at its end.
public protocol TurnEnding: AnyObject {
    /// Runs once after all events and timers of the turn.
    func turnEnds()
}
