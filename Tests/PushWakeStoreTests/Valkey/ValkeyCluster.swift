// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem

/// A real cluster on loopback: three masters, with a replica each where masters are to die.
final class ValkeyCluster: @unchecked Sendable {
    /// One for all tests that need no faults.
    static let shared = ValkeyCluster(withReplicas: false)

    let servers: [ValkeyServer]

    init(withReplicas: Bool) {
        servers = (0..<(withReplicas ? 6 : 3)).map { _ in ValkeyServer(nodeTimeout: 800) }
        // As `redis-cli --cluster create` does, which waits for ever when a greeting is lost.
        let slots = ["0 5460", "5461 10922", "10923 16383"]
        do {
            for (number, server) in servers.enumerated() {
                try server.run("cluster set-config-epoch \(number + 1)")
                if number < slots.count { try server.run("cluster addslotsrange \(slots[number])") }
            }
            let end = SystemClock.monotonicMilliseconds() + 40_000
            while try !haveMet() {
                guard SystemClock.monotonicMilliseconds() < end else { fatalError("nodes do not find each other") }
                SystemClock.wait(milliseconds: 50)
            }
            for (master, replica) in zip(servers, servers.dropFirst(slots.count)) {
                try replica.run("cluster replicate \(master.clusterID)")
            }
            while try !servers.allSatisfy({ try $0.output("cluster info").contains("cluster_state:ok") })
                || withReplicas
                    && servers.filter({ try $0.output("info replication").contains("link_status:up") }).count < 3
            {
                guard SystemClock.monotonicMilliseconds() < end else { fatalError("the cluster does not form") }
                SystemClock.wait(milliseconds: 20)
            }
        } catch {
            fatalError("no cluster: \(error)")
        }
    }

    /// Whether each node knows all; those that it does not are greeted.
    private func haveMet() throws -> Bool {
        var allKnown = true
        for server in servers {
            let known = try server.output("cluster nodes")
            allKnown = allKnown && known.split(separator: "\n").count == servers.count && !known.contains("handshake")
            for other in servers where !known.contains(":\(other.port)@") {
                try server.run("cluster meet 127.0.0.1 \(other.port) \(other.busPort)")
            }
        }
        return allKnown
    }

    /// The first node is away.
    func access() throws -> ValkeyAccess {
        let hosts = ["127.0.0.1:1"] + servers.prefix(2).map { "127.0.0.1:\($0.port)" }
        return ValkeyAccess(try ValkeyAddress("redis+cluster://" + hosts.joined(separator: ",")))
    }

    /// Its master; the prefix of keys is the node's.
    func master(of key: String) throws -> ValkeyServer {
        let slot = try servers[0].output("cluster keyslot '\(key)'").filter(\.isNumber)
        for server in servers where try server.output("role").contains("master") {
            let own = try server.output("cluster nodes").split(separator: "\n").first { $0.contains("myself") } ?? ""
            let ranges = own.split(separator: " ").dropFirst(8).map { $0.split(separator: "-").compactMap { Int($0) } }
            if ranges.contains(where: { $0.count > 0 && ($0[0]...($0.last ?? 0)).contains(Int(slot) ?? -1) }) {
                return server
            }
        }
        throw StoreError.unusable("nobody has \(key)")
    }
}

extension ValkeyServer {
    /// A node's name in its cluster.
    var clusterID: String {
        get throws { try output("cluster myid").filter { !$0.isWhitespace } }
    }
}
