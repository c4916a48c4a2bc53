// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// One request for an access token of Google's. Its assertion is signed when a connection takes it: it may have waited for
/// one for seconds, and a host that has just started is told the right time meanwhile.
final class FCMTokenExchange: HTTPExchange {
    private let account: ServiceAccount
    private let now: () -> Int64
    private let sign: ([UInt8]) -> [UInt8]?
    private let completion: (HTTPResult) -> Void

    /// `now` in seconds since 1970; `sign` makes an RS256 signature, nil when the key cannot; `completion` runs once.
    init(
        _ account: ServiceAccount, deadline: Int64, now: @escaping () -> Int64,
        sign: @escaping ([UInt8]) -> [UInt8]?, completion: @escaping (HTTPResult) -> Void
    ) {
        self.account = account
        self.now = now
        self.sign = sign
        self.completion = completion
        super.init(deadline: deadline)
    }

    override func write(into request: inout HTTPRequest) throws(PushRefusal) {
        let input = FCMTokenRequest.signingInput(account, now: now())
        guard let signature = sign(input) else { throw .signingFailed }
        request = try FCMTokenRequest.build(account, signingInput: input, signature: signature).1
    }

    override func ended(_ result: HTTPResult) { completion(result) }
}
