// SPDX-License-Identifier: MIT

/// What an INVITE offers to talk with.
enum SessionOffer {
    /// How deep a session description is looked for within parts, and how many parts of one body.
    private static let (deepest, mostParts) = (4, 32)

    /// Whether a session description, the body or a part of it (RFC 2046, 5.1), has video that is not switched off (port 0,
    /// RFC 3264, 5.1): `m=video 4000 RTP/AVP 96`. A body whose type is not said is one.
    static func hasVideo(_ body: Span<UInt8>, contentType: String) -> Bool {
        let type = contentType.isEmpty ? "application/sdp" : contentType
        return hasVideo(body, in: 0..<body.count, contentType: type, depth: 0)
    }

    private static func hasVideo(_ body: Span<UInt8>, in range: Range<Int>, contentType: String, depth: Int) -> Bool {
        let type = MessageBody.mediaType(of: contentType)
        if type == "application/sdp" { return hasVideo(body, in: range) }
        guard type.hasPrefix("multipart/"), depth < deepest,
            var parts = PartCursor(body, in: range, contentType: contentType)
        else { return false }
        for _ in 0..<mostParts {
            guard let next = parts.next() else { return false }
            guard let part = MessagePart(body, in: next), part.isPlain else { continue }
            if hasVideo(body, in: part.content, contentType: part.contentType, depth: depth &+ 1) { return true }
        }
        return false
    }

    private static func hasVideo(_ body: Span<UInt8>, in range: Range<Int>) -> Bool {
        var lines = Lines(body, in: range)
        while let next = lines.next() {
            let line = body.part(next)
            guard line.count > 8, line.part(0..<8).equals("m=video ") else { continue }
            if line[8] != UInt8(ascii: "0") { return true }
        }
        return false
    }
}
