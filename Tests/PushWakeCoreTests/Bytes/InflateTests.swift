// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

/// Streams were made by zlib, which shares no code with what reads them.
@Suite struct `Compressed bytes` {
    private static let text = String(repeating: "Hello Bob, this is Alice. ", count: 4) + "Gr\u{FC}\u{DF}e \u{1F44B}"
    /// 200,000 letters, and 40,001 bytes of which each second one begins a character.
    private static let long = (
        "eNrtwTEBAAAAwqDai28Gf6AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgNcAxZFLcw==",
        "eNrtwkERAAAMAqCsi2eOFfNlCw7uAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATAGojxxj"
    )
    /// 1,200 bytes that have no pattern of letters.
    private static let numbers =
        "eNpjYJdxKNzwL/KQ1f6gL4sTdFjfPHr6Tcy57oR8y49KjmWBXJeWd9VUdyw5y+I191/e6zKB7TkGjA/Onbz0it+p5bLBHNE5Rlfb3ITf3Th/5QWnRdlBqabvVTyrI0TubpnV2zdv9zOF9D0KEwXmWT6aFW8kwszAo+rTdFSs7HHci3qVGzMz3Ay1jNyz5tzWaHmb8qpW7lx3mIE4j4CiQ97KT17rlZYYX6gx/XNp67Jlm8/90C85oTlDbKHVo+lROtw/vvwVscpd9y/6mMPxGIaNBXaSTL/+C5kkL3jjukZpqdm1ZjuO+0d27DzxTNBr0nOvPdYnUniPdMXa6WmbBZSv+eC4gK9TaJU/05HJBTGhMUVTj7EFr5PoF1nh+WNbY5STuZVP9owrsiW3fM/F/V6WoP7nwcUL934qRc3/FHLY4Uwqz6HWMDNlOQ37lBk3Ndo+Zn1q17ozO8NFV0XLNq7vtFjBdZ8LiQzrMo243j968lnApnSPUOmztM99Fu+3dGRGhCVWLboulXPaYovtlSrdd/tmtzW0zznw0aDuptMu+0slyg/WtOYkpZZNO/zPYz5Lxc8OtYtdQepcf35zqPi2nJKte5f9bYL5mw2NCX6eQVn9h1iCN8hMldkUynZscl6Ef0hG545vjrOYyn/1aN+YEmsixcsnZ5224LnNAsEJcjuTpO5vmtLc0LP0DJPrtG/J9zL+L4mQfHFs46pNx1/JRK9gyX2S9XeeH/e1DdN7Jiw88E6z6JT+IpXNAX+21gSZqqkZ+1Ws/+KxUmKa4q4k8VtruitKaqfseqtXd9vtgPudBsMP+2Y2VdVP2vJYIeeoziLVbWHM+zriXSwsPdImnhJKP2Wz2+NJrwvX3X3rVm+78F2n4KBCH+ckrfNNLsIf7ly980nUre2y3gz+KRonK8wYbx3avuvMa4mQuV+izvrdq1Z7sLwmITAgrnLRLfmiK84HfJ72OLFe27Z43or9TyQiV7AVvipiXxUj/eLI2iWr9t7j8572IfxMwMMGvZebuvKTUoon7PlqM+lr2rNivh35Jhwvb1x7+EspfNYb7x0me0N+rc2zk2ZjGE3/Qyr9AwC4CFE/"

    private func inflated(_ text: String, most: Int = 16_384) -> [UInt8]? {
        guard let bytes = Self.bytes(text) else { return nil }
        return try? Inflate.bytes(of: bytes.span, most: most)
    }

    private static func bytes(_ base64: String) -> [UInt8]? {
        let alphabet = base64.replacing("+", with: "-").replacing("/", with: "_")
        return Base64URL.decode(String(alphabet.prefix { $0 != "=" }))
    }

    @Test(arguments: [
        // zlib: codes of its own, none, the fixed ones, and without repetitions.
        "eNrzSM3JyVdwyk/SUSjJyCxWACLHnMzkVD0FD6rKuBcd3nN4fqrCh/kTuwG+cSiX",
        "eAEBdACL/0hlbGxvIEJvYiwgdGhpcyBpcyBBbGljZS4gSGVsbG8gQm9iLCB0aGlzIGlzIEFsaWNlLiBIZWxsbyBCb2IsIHRoaXMgaXMgQWxpY2UuIEhlbGxvIEJvYiwgdGhpcyBpcyBBbGljZS4gR3LDvMOfZSDwn5GLvnEolw==",
        "eAHzSM3JyVdwyk/SUSjJyCxWACLHnMzkVD0FD6rKuBcd3nN4fqrCh/kTuwG+cSiX",
        "eAEFwUEJAzEUBFArIyDEQ3JpdCQMZGDgQ39c7KkK1khva6gS+t6gHegxC85WQolmLVYM2oEes+BsJZRo1mLFoB3oMQvOVkKJZi1WDNqBHrPgbCWUaNZixev9fJ+b+N2f6w++cSiX",
        // Without a header, and gzip with a name, and with all that it may have.
        "80jNyclXcMpP0lEoycgsVgAix5zM5FQ9BQ+qyrgXHd5zeH6qwof5E7sB",
        "H4sICAAAAAAC/2hlbGxvLnR4dADzSM3JyVdwyk/SUSjJyCxWACLHnMzkVD0FD6rKuBcd3nN4fqrCh/kTuwHzjUIldAAAAA==",
        "H4sIHgAAAAAAAAMAYWJjbmFtZQBjb21tZW50AAAA80jNyclXcMpP0lEoycgsVgAix5zM5FQ9BQ+qyrgXHd5zeH6qwof5E7sBAAAAAAAAAAA=",
    ])
    func `are read in each format`(stream: String) throws {
        #expect(inflated(stream) == Array(Self.text.utf8))
        // Cut anywhere, they end or are refused.
        let bytes = try #require(Self.bytes(stream))
        for count in 0..<bytes.count {
            let part = try? Inflate.bytes(of: bytes.span.extracting(0..<count), most: 16_384)
            #expect(part == nil || part == Array(Self.text.utf8))
        }
    }

    @Test func `are read whatever bytes they stand for`() {
        #expect(inflated(Self.numbers) == (0..<1200).map { UInt8(truncatingIfNeeded: $0 * $0 * 7 + $0 / 3) })
    }

    @Test func `are no more than is wanted, and end with a whole character`() throws {
        #expect(inflated(Self.long.0) == Array(repeating: UInt8(ascii: "x"), count: 16_384))
        #expect(inflated(Self.long.0, most: 0)?.isEmpty == true)
        let bytes = try #require(Self.bytes(Self.long.1))
        let decoded = ContentCoding.decode(bytes.span, "deflate")
        let text = try #require(decoded)
        let isText = text.span.validText() != nil
        #expect(text.count == ContentCoding.most - 1 && isText)
    }

    @Test(arguments: [
        "", "eA==", "eNo=", "eNr/", "H4sI", "H4sIAAAAAAAAAA==", "H4sIBAAAAAAAA///", "H4sICAAAAAAAAGFh", "eLs=", "Bw==",
        // A repetition of what was not there yet, and a stored block whose lengths do not fit.
        "AwIA", "AQUA+v9h", "AQUA+P9hYWFhYQ==",
    ])
    func `are refused when they are none`(stream: String) { #expect(inflated(stream) == nil) }

    @Test func `are never a trap`() {
        var state: UInt64 = 9
        for _ in 0..<20_000 {
            let bytes = (0..<40).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
            let out = try? Inflate.bytes(of: bytes.span, most: 500)
            #expect(out.map { $0.count <= 500 } != false)
        }
    }

    @Test(arguments: [
        ("deflate", true), ("GZIP", true), (" deflate ", true), ("identity, deflate", true), ("deflate,identity", true),
        ("br", false), ("deflate, gzip", false), ("deflate, aes128gcm", false), ("gzip,gzip,gzip,gzip,deflate", false),
    ])
    func `are undone as Content-Encoding says`(codings: String, isRead: Bool) throws {
        let bytes = try #require(Self.bytes("eNrzSM3JyVdwyk/SUSjJyCxWACLHnMzkVD0FD6rKuBcd3nN4fqrCh/kTuwG+cSiX"))
        let decoded = ContentCoding.decode(bytes.span, codings)
        #expect((decoded == Array(Self.text.utf8)) == isRead)
    }
}
