// SPDX-License-Identifier: MIT

/// One HTTP/2 stream of a connection. The object outlives the stream and serves the next one.
final class ServedStream {
    /// 0 when free.
    var id: Int32 = 0
    var request = ReceivedRequest()
    /// Answer body and how much of it has left.
    var body: [UInt8] = []
    var sent = 0
}
