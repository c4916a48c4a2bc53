// SPDX-License-Identifier: MIT

private import CLinux

/// Several descriptors that can be polled as one: readable when any of them is.
public final class DescriptorSet {
    /// Poll this one for reading.
    public let descriptor: Int32

    /// An empty set; its descriptor is -1 when the process has none left.
    public init() { descriptor = epoll_create1(Int32(EPOLL_CLOEXEC)) }

    deinit { if descriptor >= 0 { _ = close(descriptor) } }

    /// Polls a descriptor from now on; -1 is ignored.
    public func add(_ member: Int32) {
        guard member >= 0 else { return }
        var event = epoll_event()
        event.events = Loop.Readiness.readable.rawValue
        event.data.fd = member
        _ = epoll_ctl(descriptor, EPOLL_CTL_ADD, member, &event)
    }

    /// Members that are readable or at their end now, at most eight; does not wait.
    public func ready() -> [Int32] {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 8) { events in
            let count = epoll_wait(descriptor, events.baseAddress, 8, 0)
            return (0..<max(0, Int(count))).map { Int32(truncatingIfNeeded: events[$0].data.fd) }
        }
    }

    /// Takes a member out; one that was closed has left by itself.
    public func remove(_ member: Int32) {
        guard member >= 0 else { return }
        var event = epoll_event()
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, member, &event)
    }
}
