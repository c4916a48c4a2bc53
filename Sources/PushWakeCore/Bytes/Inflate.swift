// SPDX-License-Identifier: MIT

/// Decompresses what DEFLATE made (RFC 1951), on its own or in the format of zlib (RFC 1950) or gzip (RFC 1952).
///
/// A SIP worker reads what strangers send: output is bounded, and the work with it. Check sums are not looked at, since a
/// text that was cut at the bound is of use as well.
struct Inflate: ~Escapable {
    /// Why there is nothing to be had.
    enum Failure: Error, Equatable {
        /// The bytes are none of the format, or end too early.
        case malformed
    }

    private let input: Span<UInt8>
    private var position: Int
    private var held: UInt32 = 0
    private var heldCount: UInt32 = 0
    private var output: [UInt8] = []
    private let most: Int

    /// Decompresses a zlib or gzip stream, or a raw one, up to `most` bytes.
    static func bytes(of input: Span<UInt8>, most: Int) throws(Failure) -> [UInt8] {
        guard let start = gzipHeader(input) ?? zlibHeader(input) else { throw .malformed }
        var inflate = Inflate(input, start, most)
        while try inflate.readBlock() {}
        return inflate.output
    }

    @_lifetime(copy input)
    private init(_ input: Span<UInt8>, _ position: Int, _ most: Int) {
        (self.input, self.position, self.most) = (input, position, most)
    }

    // MARK: Formats

    /// Where the data begins; nil when it is not gzip (RFC 1952, 2.3).
    private static func gzipHeader(_ input: Span<UInt8>) -> Int? {
        guard input.count >= 10, input[0] == 0x1F, input[1] == 0x8B, input[2] == 8 else { return nil }
        let flags = input[3]
        var position = 10
        if flags & 4 != 0 {
            guard input.count >= 12 else { return nil }
            position = 12 + Int(input[10]) + Int(input[11]) << 8
        }
        // A name and a comment, each ended by a NUL.
        for flag: UInt8 in [8, 16] where flags & flag != 0 {
            while position < input.count, input[position] != 0 { position &+= 1 }
            position &+= 1
        }
        return flags & 2 != 0 ? position &+ 2 : position
    }

    /// Where the data begins: servers leave the header of zlib out (RFC 9110, 8.4.1.2). Nil when it asks for a dictionary.
    private static func zlibHeader(_ input: Span<UInt8>) -> Int? {
        guard input.count >= 2, input[0] & 0x0F == 8, (UInt32(input[0]) << 8 | UInt32(input[1])) % 31 == 0 else {
            return 0
        }
        return input[1] & 0x20 == 0 ? 2 : nil
    }

    // MARK: Blocks

    /// Reads a block; false after the last, or when nothing more is wanted.
    @_lifetime(self: copy self)
    private mutating func readBlock() throws(Failure) -> Bool {
        let isLast = try bits(1) == 1
        switch try bits(2) {
        case 0: try copyStored()
        case 1: try decode(Self.fixedLiterals, Self.fixedDistances)
        case 2:
            let (literals, distances) = try readCodes()
            try decode(literals, distances)
        default: throw .malformed
        }
        return !isLast && output.count < most
    }

    @_lifetime(self: copy self)
    private mutating func copyStored() throws(Failure) {
        (held, heldCount) = (0, 0)
        guard position &+ 4 <= input.count else { throw .malformed }
        let length = Int(input[position]) | Int(input[position &+ 1]) << 8
        let complement = Int(input[position &+ 2]) | Int(input[position &+ 3]) << 8
        position &+= 4
        guard length == ~complement & 0xFFFF, position &+ length <= input.count else { throw .malformed }
        for index in position..<(position &+ min(length, most &- output.count)) { output.append(input[index]) }
        position &+= length
    }

    @_lifetime(self: copy self)
    private mutating func decode(_ literals: PrefixCode, _ distances: PrefixCode) throws(Failure) {
        while output.count < most {
            let symbol = try symbol(literals)
            if symbol < 256 {
                output.append(UInt8(truncatingIfNeeded: symbol))
            } else if symbol == 256 {
                return
            } else {
                try repeatEarlier(
                    length: try length(of: symbol &- 257), distance: try distance(of: try self.symbol(distances)))
            }
        }
    }

    @_lifetime(self: copy self)
    private mutating func repeatEarlier(length: Int, distance: Int) throws(Failure) {
        guard distance <= output.count else { throw .malformed }
        for _ in 0..<min(length, most &- output.count) { output.append(output[output.count &- distance]) }
    }

    /// RFC 1951, 3.2.5: each length code stands for so many lengths, told apart by the bits behind it.
    @_lifetime(self: copy self)
    private mutating func length(of code: Int) throws(Failure) -> Int {
        switch code {
        case 0..<8: return code &+ 3
        case 8..<28:
            let extra = code / 4 &- 1
            return (4 &+ code & 3) << extra &+ 3 &+ Int(try bits(UInt32(extra)))
        case 28: return 258
        default: throw .malformed
        }
    }

    @_lifetime(self: copy self)
    private mutating func distance(of code: Int) throws(Failure) -> Int {
        switch code {
        case 0..<4: return code &+ 1
        case 4..<30:
            let extra = code / 2 &- 1
            return (2 &+ code & 1) << extra &+ 1 &+ Int(try bits(UInt32(extra)))
        default: throw .malformed
        }
    }

    // MARK: Codes

    /// Code lengths in the order in which they are sent (RFC 1951, 3.2.7).
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let fixedLiterals = PrefixCode(
        unchecked: Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112) + Array(repeating: 7, count: 24)
            + Array(repeating: 8, count: 8))
    private static let fixedDistances = PrefixCode(unchecked: Array(repeating: 5, count: 30))

    @_lifetime(self: copy self)
    private mutating func readCodes() throws(Failure) -> (literals: PrefixCode, distances: PrefixCode) {
        let literalCount = Int(try bits(5)) &+ 257
        let distanceCount = Int(try bits(5)) &+ 1
        let lengthCount = Int(try bits(4)) &+ 4
        guard literalCount <= 286, distanceCount <= 30 else { throw .malformed }
        var ofLengths = [UInt8](repeating: 0, count: 19)
        for place in Self.order.prefix(lengthCount) { ofLengths[place] = UInt8(truncatingIfNeeded: try bits(3)) }
        guard let code = PrefixCode(ofLengths[...]) else { throw .malformed }
        var lengths: [UInt8] = []
        while lengths.count < literalCount &+ distanceCount {
            let symbol = try symbol(code)
            switch symbol {
            case 0..<16: lengths.append(UInt8(truncatingIfNeeded: symbol))
            case 16:
                guard let last = lengths.last else { throw .malformed }
                lengths += Array(repeating: last, count: Int(try bits(2)) &+ 3)
            case 17: lengths += Array(repeating: 0, count: Int(try bits(3)) &+ 3)
            default: lengths += Array(repeating: 0, count: Int(try bits(7)) &+ 11)
            }
        }
        guard lengths.count == literalCount &+ distanceCount, lengths[256] != 0,
            let literals = PrefixCode(lengths[..<literalCount]), let distances = PrefixCode(lengths[literalCount...])
        else { throw .malformed }
        return (literals, distances)
    }

    @_lifetime(self: copy self)
    private mutating func symbol(_ code: PrefixCode) throws(Failure) -> Int {
        var reader = PrefixCode.Reader()
        while !reader.isTooLong {
            if let symbol = code.symbol(&reader, bit: Int(try bits(1))) { return symbol }
        }
        throw .malformed
    }

    /// The next bits, the first of them lowest; at most 13.
    @_lifetime(self: copy self)
    private mutating func bits(_ count: UInt32) throws(Failure) -> UInt32 {
        while heldCount < count {
            guard position < input.count else { throw .malformed }
            held |= UInt32(input[position]) << heldCount
            position &+= 1
            heldCount &+= 8
        }
        defer {
            held >>= count
            heldCount &-= count
        }
        return held & (1 << count &- 1)
    }
}

/// A Huffman code that is given by the length of each symbol's code (RFC 1951, 3.2.2).
private struct PrefixCode {
    /// How far a code has been read.
    struct Reader {
        fileprivate var code = 0
        fileprivate var first = 0
        fileprivate var place = 0
        fileprivate var length = 0

        /// No code has more bits.
        var isTooLong: Bool { length >= PrefixCode.longest }
    }

    private static let longest = 15
    /// How many symbols have a code of each length.
    private var counts = [Int](repeating: 0, count: longest + 1)
    /// In the order of their codes.
    private var symbols: [Int] = []

    /// Nil when there are more codes than bits can tell apart.
    init?(_ lengths: ArraySlice<UInt8>) {
        self.init(unchecked: Array(lengths))
        var left = 1
        for count in counts.dropFirst() {
            left = left << 1 &- count
            if left < 0 { return nil }
        }
    }

    init(unchecked lengths: [UInt8]) {
        for length in 1...UInt8(Self.longest) {
            let found = lengths.indices.filter { lengths[$0] == length }
            counts[Int(length)] = found.count
            symbols += found
        }
    }

    /// The symbol whose code the next bit completes; nil when more bits are needed.
    func symbol(_ reader: inout Reader, bit: Int) -> Int? {
        reader.length &+= 1
        reader.code |= bit
        let count = counts[reader.length]
        let offset = reader.code &- reader.first
        if offset < count { return symbols[reader.place &+ offset] }
        reader.place &+= count
        reader.first = (reader.first &+ count) << 1
        reader.code <<= 1
        return nil
    }
}
