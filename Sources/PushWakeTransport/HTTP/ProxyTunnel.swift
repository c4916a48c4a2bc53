// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// Asks an HTTP proxy for a tunnel (CONNECT; RFC 9110, 9.3.6).
final class ProxyTunnel {
    enum State: Equatable {
        case waiting
        case open
        /// The proxy's answer.
        case refused(String)
    }

    private(set) var state = State.waiting
    /// What to send first.
    let request: [UInt8]
    private var parser = HTTP1Parser(isClient: true, bodyLimit: 1024, headLimit: 16_384)

    init(to origin: HTTPOrigin, proxy: HTTPPoolConfiguration.Proxy?) {
        let host = origin.host.utf8.contains(UInt8(ascii: ":")) ? "[\(origin.host)]" : origin.host
        var text = "CONNECT \(host):\(origin.port) HTTP/1.1\r\nhost: \(host):\(origin.port)\r\n"
        if let proxy, !proxy.authorization.isEmpty {
            let value = proxy.authorization.filter { !$0.isNewline }
            text += "proxy-authorization: \(value)\r\n"
        }
        request = Array((text + "\r\n").utf8)
        parser.expectsNoBody = true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        parser.append(bytes)
        do throws(HTTP1Parser.Failure) {
            guard let answer = try parser.next() else { return }
            let status = answer.startLine.dropFirst(9).prefix(3)
            state = status.first == "2" ? .open : .refused(Self.refusal(status, answer.startLine))
        } catch {
            state = .refused("the proxy does not speak HTTP")
        }
    }

    private static func refusal(_ status: Substring, _ line: String) -> String {
        let words = String(line.prefix(120))
        return status == "407"
            ? "the proxy wants a name and password, or others: \(words)" : "the proxy refuses: \(words)"
    }
}
