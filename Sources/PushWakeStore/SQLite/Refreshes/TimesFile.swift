// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore

/// When phones registered last, in a file beside the store: all that most REGISTERs change.
///
/// In the tables a row shares its page with others, and SQLite writes the whole page to its log, and from there to its
/// file, for each row that changes. Here a row has 32 bytes of its own, at a place that its id tells, and what changes is
/// written over what was there. The first rows of each user have such a place.
///
///     0   the table's own time (low 32 bits) of the row that these bytes are of, and its CSeq mixed with `expires_in`
///     8   seconds since 1970 of the last REGISTER
///     16  seconds from then until the registration ends, and until the binding is forgotten, 32 bits each
///     24  CSeq, and a checksum, 32 bits each
///
/// Numbers are little endian. What was written to the table since has another time or end there, or another CSeq: so a place is
/// never taken for a row that it is not of, whoever has written to the table, and a file that is lost costs nothing but
/// times. A write of 32 bytes within a page is seen as a whole, or not at all.
final class TimesFile {
    /// The times of a row.
    struct Times: Equatable {
        var cseq: UInt32
        var registeredAt: Int64
        var expiresAt: Int64
        var forgetAt: Int64

        init(of binding: Binding) {
            (cseq, registeredAt) = (binding.cseq, binding.registeredAt)
            (expiresAt, forgetAt) = (binding.expiresAt, binding.forgetAt)
        }

        fileprivate init(cseq: UInt32, registeredAt: Int64, expiresAt: Int64, forgetAt: Int64) {
            (self.cseq, self.registeredAt) = (cseq, registeredAt)
            (self.expiresAt, self.forgetAt) = (expiresAt, forgetAt)
        }

        /// Gives them to the binding that they are of.
        func apply(to binding: inout Binding) {
            (binding.cseq, binding.registeredAt) = (cseq, registeredAt)
            (binding.expiresAt, binding.forgetAt) = (expiresAt, forgetAt)
        }
    }

    /// What a row has in the table, by which its place is known.
    struct Base: Equatable {
        fileprivate let word: UInt64

        /// The end of a registration changes `expiresIn` alone; so that two numbers share 32 bits, it is spread over them.
        init(registeredAt: Int64, cseq: UInt32, expiresIn: Int64) {
            let mixed = cseq ^ UInt32(truncatingIfNeeded: expiresIn) &* 0x9E37_79B1
            word = UInt64(UInt32(truncatingIfNeeded: registeredAt)) | UInt64(mixed) << 32
        }

        /// These times as the table has them.
        init(of times: Times) {
            self.init(
                registeredAt: times.registeredAt, cseq: times.cseq,
                expiresIn: times.expiresAt &- times.registeredAt)
        }

        fileprivate init(word: UInt64) { self.word = word }

        /// Seconds from the table's own time until another time, as far as 32 bits tell.
        func age(at time: Int64) -> Int64 {
            Int64(UInt32(truncatingIfNeeded: time) &- UInt32(truncatingIfNeeded: word))
        }
    }

    /// What stands at the place of a row.
    struct Place: Equatable {
        let base: Base
        var times: Times

        init(base: Base, times: Times) { (self.base, self.times) = (base, times) }

        /// That of a row as the table has it.
        init(of binding: Binding) {
            times = Times(of: binding)
            base = Base(of: times)
        }
    }

    /// Rows of a user that have a place.
    static let rowsPerUser = 2
    private static let wordsPerRow = 4
    private static let bytesPerUser = Int64(rowsPerUser * wordsPerRow * 8)
    /// Later users have none: the file has a bound.
    private static let mostUsers: Int64 = 1 << 26

    private let descriptor: Int32
    private var words = [UInt64](repeating: 0, count: rowsPerUser * wordsPerRow)

    /// Opens the file of the store at `storePath`, or makes it with mode 0600; nil when it cannot be used, which costs no more
    /// than what it saves, or when there is none to read.
    init?(storePath: String, isReadOnly: Bool = false) {
        let access = isReadOnly ? O_RDONLY : O_RDWR | O_CREAT
        descriptor = open(storePath + "-times", access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        // As for the store's other files: who starts an engine as root once must not lock out the one of every day.
        if !isReadOnly, geteuid() == 0, stat(storePath, &status) == 0 {
            _ = fchown(descriptor, status.st_uid, status.st_gid)
        }
    }

    deinit { close(descriptor) }

    /// Whether the row with this id has a place.
    static func hasPlace(_ id: Int64) -> Bool { id >= 0 && id & 0xFF < rowsPerUser && id >> 8 < mostUsers }

    /// What stands at the places of a user's rows, one for each row that can have one; nil where nothing does.
    func places(ofUser uid: Int64) -> [Place?] {
        let none = [Place?](repeating: nil, count: Self.rowsPerUser)
        guard Self.hasPlace(uid << 8), read(at: Self.offset(of: uid << 8), into: &words) > 0 else { return none }
        return none.indices.map { place(in: words, at: $0 &* Self.wordsPerRow, of: uid << 8 | Int64($0)) }
    }

    /// Writes the places of rows that follow each other; false when it did not work: then the old ones count.
    func write(_ places: [Place], of first: Int64) -> Bool {
        let last = first &+ Int64(places.count) &- 1
        guard !places.isEmpty, Self.hasPlace(first), Self.hasPlace(last), first >> 8 == last >> 8 else { return false }
        var bytes: [UInt64] = []
        bytes.reserveCapacity(places.count * Self.wordsPerRow)
        for (index, place) in places.enumerated() {
            guard Self.append(place, of: first &+ Int64(index), to: &bytes) else { return false }
        }
        return write(bytes, at: Self.offset(of: first))
    }

    /// Writes the places of users, in the order of their first ids: what lies side by side goes in one piece. Where a
    /// row has no place, or writing fails, the table counts.
    func write(_ users: [(first: Int64, places: [Place])]) {
        var piece: [UInt64] = []
        var start: Int64 = 0
        for user in users where Self.hasPlace(user.first) {
            if piece.isEmpty || Self.offset(of: user.first) != Self.offset(of: start) + off_t(piece.count * 8) {
                if !piece.isEmpty { _ = write(piece, at: Self.offset(of: start)) }
                (piece, start) = ([], user.first)
            }
            for slot in 0..<Self.rowsPerUser {
                // The place stays empty without a row, and for numbers that are too large for it.
                guard slot < user.places.count,
                    Self.append(user.places[slot], of: user.first &+ Int64(slot), to: &piece)
                else {
                    piece += [UInt64](repeating: 0, count: Self.wordsPerRow)
                    continue
                }
            }
        }
        if !piece.isEmpty { _ = write(piece, at: Self.offset(of: start)) }
    }

    /// Nothing stands at the place of this row any more.
    func clear(_ id: Int64) {
        guard Self.hasPlace(id) else { return }
        _ = write([UInt64](repeating: 0, count: Self.wordsPerRow), at: Self.offset(of: id))
    }

    /// Whether there is no place at all.
    var isEmpty: Bool {
        var status = stat()
        return fstat(descriptor, &status) != 0 || status.st_size == 0
    }

    /// Goes through all places, in the order of the ids, with so many users at a time.
    func forEach(users count: Int = 4096, _ body: ([(id: Int64, place: Place)]) throws(StoreError) -> Void)
        throws(StoreError)
    {
        let perUser = Self.rowsPerUser * Self.wordsPerRow
        var chunk = [UInt64](repeating: 0, count: count * perUser)
        var uid: Int64 = 0
        while true {
            let words = read(at: Self.offset(of: uid << 8), into: &chunk)
            guard words > 0 else { return }
            var found: [(id: Int64, place: Place)] = []
            for index in 0..<(words / Self.wordsPerRow) {
                let id = (uid &+ Int64(index / Self.rowsPerUser)) << 8 | Int64(index % Self.rowsPerUser)
                if let place = place(in: chunk, at: index &* Self.wordsPerRow, of: id) { found.append((id, place)) }
            }
            if !found.isEmpty { try body(found) }
            uid &+= Int64(count)
        }
    }

    /// Nothing stands anywhere any more.
    func clearAll() { _ = ftruncate(descriptor, 0) }

    // MARK: Bytes

    private static func offset(of id: Int64) -> off_t {
        let slot = (id & 0xFF) &* Int64(wordsPerRow * 8)
        return off_t((id >> 8) &* bytesPerUser &+ slot)
    }

    /// Words that were read; zeros stand in place of what is behind the end of the file.
    private func read(at offset: off_t, into words: inout [UInt64]) -> Int {
        let count = words.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
        let whole = max(0, count) / 8
        // What the buffer held before must not be taken for it.
        for index in whole..<words.count { words[index] = 0 }
        return whole
    }

    private func write(_ words: [UInt64], at offset: off_t) -> Bool {
        words.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, offset) == $0.count }
    }

    private func place(in words: [UInt64], at index: Int, of id: Int64) -> Place? {
        let (base, at) = (UInt64(littleEndian: words[index]), UInt64(littleEndian: words[index &+ 1]))
        let (ends, last) = (UInt64(littleEndian: words[index &+ 2]), UInt64(littleEndian: words[index &+ 3]))
        let cseq = UInt32(truncatingIfNeeded: last)
        guard last >> 32 == UInt64(Self.sum(base, at, ends, cseq, id)) else { return nil }
        let registeredAt = Int64(bitPattern: at)
        return Place(
            base: Base(word: base),
            times: Times(
                cseq: cseq, registeredAt: registeredAt,
                expiresAt: registeredAt &+ Int64(UInt32(truncatingIfNeeded: ends)),
                forgetAt: registeredAt &+ Int64(ends >> 32)))
    }

    /// False when the numbers are larger than there is room for.
    private static func append(_ place: Place, of id: Int64, to words: inout [UInt64]) -> Bool {
        let times = place.times
        guard let expiresIn = UInt32(exactly: times.expiresAt &- times.registeredAt),
            let forgetIn = UInt32(exactly: times.forgetAt &- times.registeredAt)
        else { return false }
        let at = UInt64(bitPattern: times.registeredAt)
        let ends = UInt64(expiresIn) | UInt64(forgetIn) << 32
        words.append(place.base.word.littleEndian)
        words.append(at.littleEndian)
        words.append(ends.littleEndian)
        words.append((UInt64(times.cseq) | UInt64(sum(place.base.word, at, ends, times.cseq, id)) << 32).littleEndian)
        return true
    }

    /// Never 0, so that a place of zeros is none.
    private static func sum(_ base: UInt64, _ at: UInt64, _ ends: UInt64, _ cseq: UInt32, _ id: Int64) -> UInt32 {
        var digest = ByteDigest(seed: 0)
        digest.add(base)
        digest.add(at)
        digest.add(ends)
        digest.add(UInt64(cseq))
        digest.add(UInt64(bitPattern: id))
        return UInt32(truncatingIfNeeded: digest.value >> 32) | 1
    }
}
