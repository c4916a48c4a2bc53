// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// The keys that secrets are kept with (`secret_key_file`): a line of 64 hex digits each, the one that seals first.
enum SecretKeyFile {
    private static let remedy = "write one with: openssl rand -hex 32"

    static func read(_ path: String) throws(KeyFileError) -> SecretBox {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContent.read(path)
        } catch {
            throw KeyFileError(message: "\(error); \(remedy)")
        }
        var keys: [[UInt8]] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let digits = line.filter { $0 > 0x20 }
            if digits.isEmpty || digits.first == UInt8(ascii: "#") { continue }
            guard let key = Hex.decode(String(decoding: digits, as: UTF8.self)), key.count == 32 else {
                throw KeyFileError(message: "\(path): line \(keys.count + 1) is not 64 hex digits; \(remedy)")
            }
            keys.append(key)
        }
        guard let box = SecretBox(keys: keys) else { throw KeyFileError(message: "\(path) holds no key; \(remedy)") }
        return box
    }
}
