// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore
import PushWakeSystem
import Testing

@testable import PushWakeStore

@Suite struct `Connections to a cluster` {
    /// A certificate that nobody has a key of.
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbTCCAROgAwIBAgIUYW50Y/+8wj7sMqysNs75Mj+otHcwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBdDAeFw0yNjExMjcwMzE4MjJaFw0zNjExMjQwMzE4MjJaMAwx
        CjAIBgNVBAMMAXQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATzGv8jtjJD0NeP
        EBfWEwbmwMqflwS3o3o3JJ6ob5V/up+vn0Gcf5gkekvMJFkaVzj4EGYyiS24pRCY
        aGhK9wdzo1MwUTAdBgNVHQ4EFgQU58UDLjYR00BjKfbNYux+mMVjsD8wHwYDVR0j
        BBgwFoAU58UDLjYR00BjKfbNYux+mMVjsD8wDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNIADBFAiBwBrsvpK7kzny+TE8DlhSVwWprZ0Kbk0tSFqL9XuRV1wIh
        ALBY574VNvy+ac6HqmDbnMc+WZjxOT637Odl/ExfyaRT
        -----END CERTIFICATE-----

        """

    @Test func `are tried again when its certificates cannot be read for a while`() throws {
        try withTemporaryDirectory { directory in
            let (file, other) = (directory + "/ca.pem", directory + "/other.pem")
            let stream = fopen(file, "w")
            fputs(Self.certificate, stream)
            fclose(stream)
            let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
            let listener = try Socket.listen(on: address)
            defer { listener.close() }
            let host = ValkeyAddress.Host(name: "127.0.0.1", port: listener.localAddress.port)
            let access = ValkeyAccess(
                try ValkeyAddress("rediss+cluster://\(host)"), caFile: file)
            let loop = try Loop()
            let servers = try ClusterServers(access, seeds: [host], greeting: [], channel: nil, loop: loop)
            defer { servers.end() }
            var troubles: [String] = []
            servers.events.onTrouble = { troubles.append($0) }
            #expect(rename(file, other) == 0)
            servers.start()
            let end = SystemClock.monotonicMilliseconds() + 20_000
            while troubles.isEmpty, SystemClock.monotonicMilliseconds() < end { loop.turn(waitingUpTo: 10) }
            #expect(troubles.count == 1 && troubles[0].contains("cannot read certificates"))
            #expect(rename(other, file) == 0)
            var peer: Socket?
            while peer == nil, SystemClock.monotonicMilliseconds() < end {
                loop.turn(waitingUpTo: 10)
                peer = listener.accept()?.socket
            }
            #expect(peer != nil)
            peer?.close()
        }
    }
}
