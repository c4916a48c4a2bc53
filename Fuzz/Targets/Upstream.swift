// SPDX-License-Identifier: MIT

import PushWakeCore

/// Reads what a SIP server answers to a gateway, and what a phone says of its server: lines that go on to a phone or
/// server stay lines, and nobody is sent to a server that is not listed.
///
/// Each line of the input is a header of an answer; the first one is also a Request-URI, a To and an address.
public func fuzzUpstream(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
    var reader = UpstreamAnswerReader(status: 401, reason: "", contactName: "gw-1_40h")
    for line in lines {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        let (name, value) = (Array(line[..<colon]), Array(line[min(colon + 1, line.count)...]))
        reader.header(name: name.span, value: value.span)
        for name in ["www-authenticate", "contact", "service-route", "min-expires"] {
            reader.header(name: name.utf8.span, value: value.span)
        }
        if let passed = HeaderLine.authorization(name: name.span, value: value.span) { check(passed) }
        _ = DigestChallenge.username(inAuthorization: value.span)
    }
    let answer = reader.finish()
    for line in answer.passedHeaders { check(line) }
    for challenge in answer.challenges {
        check(
            DigestAnswer(challenge, count: 1, clientNonce: "c").header(
                username: "u", credential: Secret("h"), method: "REGISTER", uri: "sip:h", hash: { _, _ in [1] }))
    }
    let first = lines.first ?? []
    let text = String(decoding: first, as: UTF8.self)
    var account = UpstreamAccount()
    for (server, domain, proxy) in [("", "", ""), (text, "", ""), ("h", text, ""), ("h", "", text)] {
        (account.server, account.domain, account.proxy) = (server, domain, proxy)
        for (uri, to) in [(text, "sip:u@h"), ("sip:h", text)] {
            guard
                let target = try? UpstreamTarget(
                    requestURI: uri, to: to, account: account, route: "", servers: UpstreamServers("h"))
            else { continue }
            check(target.requestURI)
            check(target.serverAOR)
            guard UpstreamName.localURI(of: target.name.utf8.span) == target.localURI else {
                fatalError("\(target.name) does not stand for \(target.localURI)")
            }
            for place in [target.requestURI, target.nextHop] where !place.isEmpty && domain.isEmpty {
                guard HostPort(uri: place)?.host == "h" else { fatalError("sent to \(place)") }
            }
        }
    }
    if let uri = UpstreamName.localURI(of: first.span) { check(uri) }
    return 0
}

private func check(_ line: String) {
    guard !line.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else { fatalError("more than a line") }
}
