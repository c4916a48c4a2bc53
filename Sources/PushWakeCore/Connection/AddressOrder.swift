// SPDX-License-Identifier: MIT

/// Decides which addresses of a server are tried first: those over which a connection was established, or nearly, and
/// nothing ever came give way to the others.
///
/// The first address that answers SYN is not yet one that serves: its path may lose the server's certificate (PMTU), a
/// firewall may look into one family only, one front end of several may be broken. Names come in a stable order
/// (RFC 6724), so without a memory such an address would be tried for ever and the good ones never. Addresses are told
/// apart by their descriptions, port included.
public struct AddressOrder: Equatable, Sendable {
    /// Milliseconds after which a failure is forgotten: paths and servers are mended.
    static let memory: Int64 = 600_000
    /// Failures that are remembered; a name with more bad addresses than that is beyond help.
    static let mostRemembered = 32

    private struct Failure: Equatable {
        let address: String
        let time: Int64
    }

    /// The oldest first, each address once.
    private var failures: [Failure] = []

    public init() {}

    /// Addresses in the order in which to try them.
    public struct Choice<Address> {
        /// Tried at once; none only when there is no address at all.
        public var first: [Address]
        /// Tried when none of the others answers soon; whoever failed longest ago comes first.
        public var later: [Address]

        public init(first: [Address], later: [Address]) { (self.first, self.later) = (first, later) }
    }

    /// A connection to this address ended before anything of use had come over it; milliseconds.
    public mutating func failed(_ address: String, now: Int64) {
        failures.removeAll { $0.address == address }
        if failures.count >= Self.mostRemembered { failures.removeFirst() }
        failures.append(Failure(address: address, time: now))
    }

    /// This address serves.
    public mutating func served(_ address: String) {
        guard !failures.isEmpty else { return }
        failures.removeAll { $0.address == address }
    }

    /// Puts what a lookup gave in order. Where all have failed, the one that did so longest ago is tried alone at first.
    public mutating func choice<Address: CustomStringConvertible>(of addresses: [Address], now: Int64) -> Choice<
        Address
    > {
        failures.removeAll { now - $0.time >= Self.memory }
        guard !failures.isEmpty else { return Choice(first: addresses, later: []) }
        var first: [Address] = []
        var later: [(rank: Int, address: Address)] = []
        for address in addresses {
            let name = address.description
            if let rank = failures.firstIndex(where: { $0.address == name }) {
                later.append((rank, address))
            } else {
                first.append(address)
            }
        }
        later.sort { $0.rank < $1.rank }
        if first.isEmpty, !later.isEmpty { first = [later.removeFirst().address] }
        return Choice(first: first, later: later.map(\.address))
    }
}
