// SPDX-License-Identifier: MIT

/// Something that owns a descriptor and wants to hear of it.
public protocol LoopSource: AnyObject {
    /// The descriptor can be read or written, or the other end is gone.
    func ready(_ readiness: Loop.Readiness)
}
