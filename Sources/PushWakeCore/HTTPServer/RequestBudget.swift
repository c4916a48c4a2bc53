// SPDX-License-Identifier: MIT

/// How many requests an address may send: a rate, and as much again for two seconds at once.
///
/// Addresses share a fixed number of buckets by a hash that nobody outside can foresee, so that a flood from many of
/// them costs no memory. Those of one IPv6 network (/64) are one address.
public struct RequestBudget: Sendable {
    private struct Bucket: Sendable {
        var tokens: Double
        var at: Int64
    }

    private static let count = 1024
    private let rate: Double
    private let burst: Double
    private var buckets: [Bucket]

    /// `rate` in requests per second, `seconds` of which may come at once.
    public init(rate: Double, seconds: Double = 2) {
        self.rate = max(rate, 0)
        burst = max(rate * seconds, 1)
        buckets = Array(repeating: Bucket(tokens: burst, at: .min), count: Self.count)
    }

    /// Takes `cost` from the budget of an address (an IP literal); false when there is not so much. `now` in monotonic
    /// milliseconds.
    public mutating func take(_ ip: String, cost: Double = 1, now: Int64) -> Bool {
        let index = Self.bucket(of: ip)
        refill(index, now)
        guard buckets[index].tokens >= cost else { return false }
        buckets[index].tokens -= cost
        return true
    }

    /// Whether anything is left for an address.
    public mutating func hasRest(_ ip: String, now: Int64) -> Bool {
        let index = Self.bucket(of: ip)
        refill(index, now)
        return buckets[index].tokens >= 1
    }

    private mutating func refill(_ index: Int, _ now: Int64) {
        let bucket = buckets[index]
        guard bucket.at != .min else {
            buckets[index].at = now
            return
        }
        let passed = Double(max(0, now &- bucket.at)) / 1000
        buckets[index] = Bucket(tokens: min(burst, bucket.tokens + passed * rate), at: max(now, bucket.at))
    }

    private static func bucket(of ip: String) -> Int {
        var hasher = Hasher()
        if let v6 = IPAddressText.v6(ip) { hasher.combine(Array(v6.prefix(8))) } else { hasher.combine(ip) }
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
    }
}
