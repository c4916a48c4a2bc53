// SPDX-License-Identifier: MIT

/// What is remembered about one connection between its requests.
struct ConnectionMemory {
    /// 1 for the first connection since the start.
    let number: Int
    var apns = APNsSession()
    /// Provider of the first request that was not for OAuth.
    var provider: ProviderName?
    var ruleMatches: FaultBook.ConnectionMatches = [:]
    /// The script that these are of.
    var ruleBook = 0

    init(number: Int) { self.number = number }
}
