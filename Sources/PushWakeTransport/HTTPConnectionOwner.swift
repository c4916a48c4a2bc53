// SPDX-License-Identifier: MIT

/// What a connection tells the pool that owns it.
protocol HTTPConnectionOwner: AnyObject {
    /// It can take requests now.
    func connectionStands(_ connection: HTTPConnection)
    /// Requests have ended, each with its `end`; streams may be free.
    func connection(_ connection: HTTPConnection, ended exchanges: [HTTPExchange])
    /// The server said why it sends this client away.
    func connection(_ connection: HTTPConnection, wasSentAway reason: String)
    /// It takes no more requests. Those that are open may still be answered.
    func connectionDrains(_ connection: HTTPConnection)
    /// It is over; all its requests have been reported before.
    func connectionClosed(_ connection: HTTPConnection, reason: String)
}
