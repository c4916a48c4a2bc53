// SPDX-License-Identifier: MIT

/// What is remembered about one connection between its requests.
struct ConnectionMemory {
    /// 1 for the first connection since the start.
    let number: Int
    var apns = APNsSession()
    /// Provider of the first request.
    var provider: ProviderName?
    var ruleMatches: FaultBook.ConnectionMatches = [:]

    init(number: Int) { self.number = number }
}
