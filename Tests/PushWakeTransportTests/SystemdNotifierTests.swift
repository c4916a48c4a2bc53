// SPDX-License-Identifier: MIT

import CLinux
import Glibc
import PushWakeSystem
import Testing

@Suite struct `A service manager` {
    @Test(arguments: [false, true])
    func `is told what there is to tell`(isAbstract: Bool) throws {
        let manager = try #require(Manager(isAbstract: isAbstract))
        let notifier = try #require(SystemdNotifier(socket: manager.name))
        for state in [SystemdNotifier.State.ready, .alive, .stopping] { #expect(notifier.tell(state)) }
        #expect(manager.heard == ["READY=1", "WATCHDOG=1", "STOPPING=1"])
    }

    @Test func `that does not read costs no time`() throws {
        let manager = try #require(Manager(isAbstract: true))
        let notifier = try #require(SystemdNotifier(socket: manager.name))
        let begin = SystemClock.monotonicMilliseconds()
        var taken = 0
        while taken < 100_000, notifier.tell(.alive) { taken += 1 }
        #expect(taken > 0 && taken < 100_000)
        #expect(SystemClock.monotonicMilliseconds() - begin < 5000)
        #expect(manager.heard.count == taken)
        #expect(notifier.tell(.stopping))
    }

    @Test func `that is gone hears nothing`() throws {
        let notifier = try #require(SystemdNotifier(socket: "/nonexistent/notify"))
        #expect(!notifier.tell(.ready))
    }

    @Test(arguments: ["", "/", "@", "notify", "vsock:2:9999", "/" + String(repeating: "x", count: 107)])
    func `whose socket cannot be meant is none`(name: String) { #expect(SystemdNotifier(socket: name) == nil) }

    /// What systemd has at the other end.
    private final class Manager {
        let name: String
        private let descriptor: Int32

        init?(isAbstract: Bool) {
            let path = "/tmp/pushwake-notify-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
            name = isAbstract ? "@" + path.dropFirst() : path
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(name.utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { field in
                for (index, byte) in bytes.enumerated() { field[index] = isAbstract && index == 0 ? 0 : byte }
            }
            let length = socklen_t(2 + bytes.count)
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { clinux_bind(descriptor, $0, length) }
            }
            guard bound == 0 else { return nil }
        }

        deinit {
            close(descriptor)
            if name.hasPrefix("/") { unlink(name) }
        }

        /// The messages that wait.
        var heard: [String] {
            var messages: [String] = []
            var bytes = [UInt8](repeating: 0, count: 256)
            while true {
                let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return messages }
                messages.append(String(decoding: bytes[..<count], as: UTF8.self))
            }
        }
    }
}
