// SPDX-License-Identifier: MIT

internal import CNGHTTP2
internal import PushWakeCore

/// A header block as nghttp2 takes it: at addresses that last, so that no request copies it.
///
/// Whoever hands `fields` to nghttp2 keeps this alive until the frame has been serialised.
final class RepeatedHeaderBlock {
    let headerBlock: HTTPHeaderBlock
    /// `:method` and the like, and then the others.
    let pseudoFields: [nghttp2_nv]
    let fields: [nghttp2_nv]
    private let bytes: UnsafeMutablePointer<UInt8>

    init(_ headerBlock: HTTPHeaderBlock) {
        self.headerBlock = headerBlock
        let count = headerBlock.storage.count
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(count, 1))
        headerBlock.storage.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { bytes.initialize(from: base, count: count) }
        }
        self.bytes = bytes
        let lasting = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        let all = headerBlock.fields.map { nghttp2_nv($0, in: bytes, flags: UInt8(truncatingIfNeeded: lasting)) }
        pseudoFields = all.filter(\.isPseudo)
        fields = all.filter { !$0.isPseudo }
    }

    deinit { bytes.deallocate() }
}

extension nghttp2_nv {
    /// Whether the name begins with a colon.
    var isPseudo: Bool { namelen > 0 && name[0] == UInt8(ascii: ":") }

    /// A field whose name and value lie at `base`.
    init(_ field: HTTPRequest.Field, in base: UnsafePointer<UInt8>, flags: UInt8 = 0) {
        let bytes = UnsafeMutablePointer(mutating: base)
        self.init(
            name: bytes + Int(field.nameStart), value: bytes + Int(field.nameEnd),
            namelen: Int(field.nameEnd &- field.nameStart), valuelen: Int(field.valueEnd &- field.nameEnd),
            flags: flags | (field.isNeverIndexed ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0))
    }
}
