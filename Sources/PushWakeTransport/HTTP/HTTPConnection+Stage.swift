// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

extension HTTPConnection {
    /// How far it is, with what it has by then.
    enum Stage {
        case connecting(Connector)
        /// TCP to the proxy is there.
        case tunnelling(Channel, ProxyTunnel)
        /// In TLS's handshake.
        case securing(Channel)
        case established(Established)
        /// `certificateProblem` says how the server refused our certificate, if that has ended the connection.
        case closed(hasServed: Bool, certificateProblem: String?)

        var channel: Channel? {
            switch self {
            case .connecting, .closed: nil
            case .tunnelling(let channel, _), .securing(let channel): channel
            case .established(let established): established.channel
            }
        }
    }

    /// What there is from TLS's end on. A class: it changes with each request, and is held by its stage.
    final class Established {
        let channel: Channel
        let session: Session
        /// Requests that were answered here.
        var answers = 0
        var lastAnswer: Int64
        /// The server has taken requests as it should: none of its answers so far says the contrary.
        var hasServed = false
        var silence = Silence.heard
        private var withoutAnswer: BytesWithoutAnswer
        /// When an answer's Date was last of interest.
        var datedAt: Int64
        /// Bytes submitted since the last gathering, before compression.
        var unsentBytes = 0
        /// Why an early flush failed.
        var failure: String?

        init(_ channel: Channel, _ session: Session, now: Int64) {
            self.channel = channel
            self.session = session
            (lastAnswer, datedAt) = (now, now)
            withoutAnswer = BytesWithoutAnswer(now: now)
        }

        /// Whether the server has sent more without an answer than there is a reason for.
        func sendsWithoutAnswering(now: Int64) -> Bool {
            let received = session.weight(of: channel.bytesReceived)
            return withoutAnswer.areTooMany(received, answers: answers, open: session.open.count, now: now)
        }

        /// Counts what has ended.
        func note(_ exchange: HTTPExchange, now: Int64) {
            guard exchange.end == .answered else { return }
            switch exchange.response.status {
            case 401, 403, 429, 500...: break
            default: hasServed = true
            }
            answers += 1
            lastAnswer = now
        }
    }

    /// What speaks HTTP on it.
    enum Session {
        case http2(HTTP2ClientSession)
        case http1(HTTP1ClientSession)

        /// Requests that are not over.
        var open: [HTTPExchange] {
            switch self {
            case .http2(let session): session.open
            case .http1(let session): session.open
            }
        }

        var isExhausted: Bool {
            switch self {
            case .http2(let session): session.isExhausted
            case .http1(let session): session.isExhausted
            }
        }

        /// Streams that the session could open now, and how many the peer allows at a time.
        @inline(__always) var room: (free: Int, peerLimit: Int) {
            switch self {
            case .http2(let session): (session.freeStreams, session.peerLimit)
            case .http1(let session): (session.freeStreams, 1)
            }
        }

        /// Bytes that the request will take; 0 when the session takes none any more.
        @inline(__always)
        func submit(_ exchange: HTTPExchange, now: Int64) throws(PushFailure) -> Int {
            switch self {
            case .http2(let session): try session.submit(exchange, now: now)
            case .http1(let session): try session.submit(exchange, now: now)
            }
        }

        /// False when the peer broke the protocol.
        func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
            switch self {
            case .http2(let session): session.receive(bytes)
            case .http1(let session): session.receive(bytes)
            }
        }

        /// What so many bytes count for that have come: those of a body cost little to read, and so do lines of text.
        func weight(of bytes: UInt64) -> UInt64 {
            switch self {
            case .http2(let session): bytes &- min(bytes, session.bodyBytes / 8 * 7)
            case .http1: bytes / 8
            }
        }

        /// Bytes that are to go out now; nil when the session is broken.
        func gather(into buffer: UnsafeMutableRawBufferPointer, position: UInt64) -> Int? {
            switch self {
            case .http2(let session): session.gather(into: buffer, position: position)
            case .http1(let session): session.gather(into: buffer, position: position)
            }
        }

        /// Requests that have ended since the last time, each with its end.
        func takeEnded() -> [HTTPExchange] {
            switch self {
            case .http2(let session): session.takeEnded()
            case .http1(let session): session.takeEnded()
            }
        }

        /// Ends all requests that are open; of the bytes handed over so many have left this host.
        func connectionLost(_ reason: String, sent: UInt64) {
            switch self {
            case .http2(let session): session.connectionLost(reason, sent: sent)
            case .http1(let session): session.connectionLost(reason, sent: sent)
            }
        }
    }

    /// How long a request has been out and nothing at all has come, and what was done about it.
    enum Silence {
        /// Nothing is out that was sent since the server was last heard.
        case heard
        case waiting(since: Int64)
        /// A PING is on its way as well, where one can be sent; so many bytes had been handed to the kernel by then.
        case asked(since: Int64, position: UInt64)
        /// Nothing came: others go elsewhere, and what may not be repeated waits here.
        case left(since: Int64)
        /// It may have been this process that slept: what does not come until then will not come.
        case lastChance(since: Int64, until: Int64)

        /// When the first request went out of which, and since which, nothing has been heard; `.max`: there is none.
        var since: Int64 {
            switch self {
            case .heard: .max
            case .waiting(let since), .asked(let since, _), .left(let since), .lastChance(let since, _): since
            }
        }

        /// When the last chance is over.
        var lastChanceEnd: Int64? { if case .lastChance(_, let end) = self { end } else { nil } }
    }
}
