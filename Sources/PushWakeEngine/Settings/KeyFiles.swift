// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Apple's `.p8` file.
enum APNsKeyFile {
    static func read(_ path: String) throws(KeyFileError) -> Signer {
        try p256Key(path, remedy: "give the .p8 file that Apple let you download, readable for the PBX")
    }

    /// The setting, or what Apple's file name says: `AuthKey_ABC123DEFG.p8`.
    static func keyID(_ settings: Settings) -> String {
        let set = settings.text(.apnsKeyID)
        return set.isEmpty ? keyID(inNameOf: settings.text(.apnsKey)) : set
    }

    /// Empty when the file is not named as Apple names it.
    static func keyID(inNameOf path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return "" }
        return String(name.dropFirst("AuthKey_".count).dropLast(".p8".count))
    }
}

/// The key that signs for Web Push (RFC 8292), PEM.
enum VAPIDKeyFile {
    static func read(_ path: String) throws(KeyFileError) -> Signer {
        try p256Key(
            path,
            remedy: "make one with: openssl ecparam -name prime256v1 -genkey -noout -out vapid.pem; one in base64url: "
                + "docs/webpush.md")
    }

    /// The public point in base64url, as phones need it to subscribe; empty without a usable key.
    static func publicKey(_ settings: Settings) -> String {
        let path = settings.text(.vapidKey)
        guard !path.isEmpty, let signer = try? read(path) else { return "" }
        return Base64URL.encode(signer.key.publicPoint())
    }
}

/// Google's service-account file.
enum FCMKeyFile {
    static func read(_ path: String) throws(KeyFileError) -> (ServiceAccount, Signer) {
        let remedy =
            "give the JSON that Firebase's console makes (Project settings, Service accounts, Generate new private key), readable for the PBX"
        let document = try KeyFile.json(path, remedy: remedy)
        var account: ServiceAccount
        do throws(ServiceAccount.Problem) {
            account = try ServiceAccount(document)
        } catch {
            throw KeyFileError(message: "\(path): \(text(error)); \(remedy)")
        }
        var text = Array(account.takePrivateKey().utf8)
        defer { FileContent.wipe(&text) }
        do throws(TLSError) {
            let signer = try Signer(pem: text)
            if signer.key.isRSA { return (account, signer) }
        } catch {
            let why = KeyFile.mistake(in: text) ?? error.message
            throw KeyFileError(message: "\(path): private_key cannot be read (\(why)); \(remedy)")
        }
        throw KeyFileError(message: "\(path): private_key is not an RSA key; \(remedy)")
    }

    private static func text(_ problem: ServiceAccount.Problem) -> String {
        switch problem {
        case .notAServiceAccount(.appConfiguration): "this is google-services.json, which an app is built with"
        case .notAServiceAccount(.personalLogin): "type is authorized_user, the login of a person"
        case .notAServiceAccount(.federation): "type is external_account, which holds no key of its own"
        case .notAServiceAccount(.other): "type is not service_account"
        case .missing(let member): "\(member) is missing"
        case .unusable(let member): "\(member) is not as Google writes it"
        case .badTokenURI: "token_uri is not an https URL"
        }
    }
}

/// The API key for FlexiAPI.
enum FlexiAPIKeyFile {
    private static let longest = 1024

    /// The first line.
    static func read(_ path: String) throws(KeyFileError) -> [UInt8] {
        let remedy = "give a file whose first line is the API key, readable for the PBX"
        guard !path.isEmpty else { throw KeyFileError(message: "is empty; \(remedy)") }
        let line = FileContent.firstLine(of: try KeyFile.contents(path, remedy: remedy))
        guard !line.isEmpty, line.count <= longest, line.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw KeyFileError(message: "\(path) holds no API key in its first line; \(remedy)")
        }
        return line
    }
}

/// A private key on P-256 in PEM, and nothing else.
private func p256Key(_ path: String, remedy: String) throws(KeyFileError) -> Signer {
    var bytes = try KeyFile.contents(path, remedy: remedy)
    defer { FileContent.wipe(&bytes) }
    do throws(TLSError) {
        let signer = try Signer(pem: bytes)
        if signer.key.isP256 { return signer }
    } catch {
        // Another key in its place would cost the pushes of phones that subscribed with this one.
        if PrivateKeyText(bytes) == .encrypted {
            throw KeyFileError(
                message:
                    "\(path) has a password, which nothing here can enter; write it anew: openssl pkey -in \(path) -out NEW"
            )
        }
        let why = KeyFile.mistake(in: bytes) ?? error.message
        throw KeyFileError(message: "\(path) holds no private key that fits (\(why)); \(remedy)")
    }
    throw KeyFileError(message: "\(path) is not a P-256 key; \(remedy)")
}

/// Reads what key files hold; `remedy` ends the message when one cannot be read.
enum KeyFile {
    static func contents(_ path: String, remedy: String) throws(KeyFileError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContent.read(path)
        } catch {
            throw KeyFileError(message: "cannot \(error); \(remedy)")
        }
        guard !FileContent.isUTF16(bytes) else {
            throw KeyFileError(message: "\(path) is UTF-16, as Windows writes it; save it as UTF-8")
        }
        return bytes
    }

    /// What stands where a private key should, for text that is none; nil for one that is there and does not fit.
    static func mistake(in bytes: [UInt8]) -> String? {
        guard (try? PrivateKey(pem: bytes)) == nil else { return nil }
        if bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
            return "it is JSON, as the keys of fcm_key and harmonyos_key are"
        }
        switch PrivateKeyText(bytes) {
        case .empty: return "it is empty"
        case .notPEM: return "no line begins with -----BEGIN"
        case .other(let label): return "it is a \(PrintableText.cleaned(label))"
        case .encrypted: return "it has a password"
        case .escapedLineEnds: return "the characters \\n stand where its lines should end"
        case .damaged: return "it is cut or damaged"
        }
    }

    static func json(_ path: String, remedy: String) throws(KeyFileError) -> JSONValue {
        var bytes = try contents(path, remedy: remedy)
        defer { FileContent.wipe(&bytes) }
        // Some editors begin a file with a byte order mark. In its place, so that no copy of a key is left.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { for index in 0..<3 { bytes[index] = UInt8(ascii: " ") } }
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(bytes)
        } catch {
            guard !bytes.starts(with: Array("-----BEGIN ".utf8)) else {
                throw KeyFileError(
                    message: "\(path) is not JSON but PEM, as the keys of apns_key and vapid_key are; \(remedy)")
            }
            throw KeyFileError(message: "\(path) is not JSON (line \(error.line), column \(error.column)); \(remedy)")
        }
    }
}

/// A key file that cannot be used, and what to do about it.
struct KeyFileError: Error, Equatable {
    let message: String
}

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
