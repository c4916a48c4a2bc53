// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A request that is ready, and a closure for its end: for those who send few.
final class ReadyExchange: HTTPExchange {
    private let request: HTTPRequest
    private let completion: (HTTPResult) -> Void

    init(_ request: HTTPRequest, deadline: Int64, completion: @escaping (HTTPResult) -> Void) {
        self.request = request
        self.completion = completion
        super.init(deadline: deadline)
    }

    override func write(into request: inout HTTPRequest) { request = self.request }

    override func ended(_ result: HTTPResult) { completion(result) }
}
