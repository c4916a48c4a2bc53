// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// One of Apple's push certificates with its key, as it lies on disk: one file, or several beside each other.
///
///     NAME.p12, NAME.pfx, NAME.pem      certificate and key
///     NAME.cer, NAME.crt + NAME.key     the certificate as Apple gives it, and the key
///     pushkitcert.APP.pem + pushkitkey.APP.pem    what Mizutech's server makes of them
///     NAME.pwd, else pushkit.pwd        the password
struct APNsCertificateFile {
    let path: String
    let identity: TLSIdentity
    let certificate: APNsCertificate

    /// Why it cannot be used.
    struct Failure: Error {
        let message: String
        /// There is a certificate, but no key.
        var isKeyless = false
    }

    /// What a directory may hold; keys and passwords are found by these names.
    static func isCertificate(_ name: String) -> Bool {
        let lower = name.lowercased()
        guard !name.hasPrefix("."), !name.hasPrefix("pushkitkey") else { return false }
        return [".p12", ".pfx", ".pem", ".cer", ".crt"].contains { lower.hasSuffix($0) }
    }

    /// The files that make up the certificate at `path`, whether they exist or not.
    static func files(of path: String, _ settings: Settings) -> [String] {
        let name = Name(path)
        return [path, name.key] + name.passwords + [settings.text(.apnsCertPasswordFile)]
    }

    /// Reads and checks it; whether its time has come is for `timeProblem`.
    static func read(_ path: String, _ settings: Settings) throws(Failure) -> APNsCertificateFile {
        let bytes = try contents(path)
        let identity = try identity(bytes, path, settings)
        let leaf = identity.leaf
        guard leaf.mayIdentifyClients else {
            let name = PrintableText.cleaned(String((leaf.subject("CN") ?? "").prefix(80)))
            throw Failure(
                message:
                    "\(path) is \"\(name)\", which is not for pushes; export the one that is named Apple Push Services or VoIP Services"
            )
        }
        var parts = APNsCertificate.Parts()
        parts.commonName = leaf.subject("CN") ?? ""
        parts.userID = leaf.subject("UID") ?? ""
        parts.topicLists = APNsCertificate.ObjectID.topics.compactMap { leaf.extensionValue($0) }
        parts.isForSandbox = leaf.extensionValue(APNsCertificate.ObjectID.sandbox) != nil
        parts.isForProduction = leaf.extensionValue(APNsCertificate.ObjectID.production) != nil
        parts.validFrom = leaf.validFrom
        parts.validUntil = leaf.expiresAt
        let certificate = APNsCertificate(parts, fileName: Name(path).name)
        guard !certificate.topics.isEmpty else {
            throw Failure(
                message:
                    "\(path) does not say which app it is for; is it Apple's? If so, name it after the app: pushkit.com.example.phone.p12"
            )
        }
        return APNsCertificateFile(path: path, identity: identity, certificate: certificate)
    }

    /// What is wrong with its time at `now`, in seconds since 1970, and the remedy; nil when nothing is.
    func timeProblem(now: Int64) -> String? {
        let renewal = "get a new one from Apple and put it in its place"
        switch certificate.timeliness(at: now) {
        case .valid: return nil
        case .ending(let date): return "\(path) expires on \(date); \(renewal)"
        case .expired(let date): return "\(path) expired on \(date); \(renewal)"
        case .early(let date): return "\(path) is valid only from \(date); is the clock of this machine right?"
        }
    }

    // MARK: Reading

    /// The names that belong together.
    private struct Name {
        let directory: String
        let name: String
        let stem: String

        init(_ path: String) {
            let slash = path.lastIndex(of: "/")
            directory = slash.map { String(path[...$0]) } ?? ""
            let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
            self.name = String(name)
            stem = String(name.lastIndex(of: ".").map { name[..<$0] } ?? name)
        }

        var key: String {
            let marker = "pushkitcert"
            guard stem.hasPrefix(marker) else { return "\(directory)\(stem).key" }
            return "\(directory)pushkitkey\(name.dropFirst(marker.count))"
        }

        /// The nearest first.
        var passwords: [String] {
            var names = [stem]
            if stem.hasPrefix("pushkitcert") { names.append("pushkit\(stem.dropFirst("pushkitcert".count))") }
            names.append("pushkit")
            return names.map { "\(directory)\($0).pwd" }
        }
    }

    private static func identity(_ bytes: [UInt8], _ path: String, _ settings: Settings) throws(Failure) -> TLSIdentity
    {
        let name = Name(path)
        let (password, source) = try password(name, settings)
        var key: [UInt8]?
        do throws(IdentityError) {
            // A file with a key of its own needs none beside it.
            return try open(bytes, nil, password)
        } catch  where error == .noKey && FileStamp(name.key) != nil {
            key = try contents(name.key)
        } catch {
            throw failure(error, path, keyPath: path, source)
        }
        do throws(IdentityError) {
            return try open(bytes, key, password)
        } catch {
            throw failure(error, path, keyPath: name.key, source)
        }
    }

    /// A password that is there for other files does not keep this one from having none.
    private static func open(
        _ bytes: [UInt8], _ key: [UInt8]?, _ password: String
    ) throws(IdentityError) -> TLSIdentity {
        do throws(IdentityError) {
            return try TLSIdentity.read(bytes, keyFile: key, password: password)
        } catch  where error == .wrongPassword && !password.isEmpty {
            return try TLSIdentity.read(bytes, keyFile: key, password: "")
        }
    }

    private static func password(_ name: Name, _ settings: Settings) throws(Failure) -> (String, source: String?) {
        let set = settings.text(.apnsCertPasswordFile)
        let beside = name.passwords.first { FileStamp($0) != nil }
        guard let path = beside ?? (set.isEmpty ? nil : set) else { return ("", nil) }
        var bytes = FileContent.withoutMark(try contents(path))
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        return (String(decoding: bytes, as: UTF8.self), path)
    }

    private static func contents(_ path: String) throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            return try FileContent.read(path)
        } catch {
            throw Failure(message: "cannot \(error); make it readable for the PBX")
        }
    }

    private static func failure(
        _ error: IdentityError, _ path: String, keyPath: String, _ password: String?
    ) -> Failure {
        let name = Name(path)
        switch error {
        case .wrongPassword:
            guard let password else {
                let file = "\(name.directory)\(name.stem).pwd"
                return Failure(message: "\(keyPath) has a password; put it into \(file)")
            }
            return Failure(
                message: "\(keyPath) does not open with the password in \(password); put the right one there")
        case .oldEncryption:
            let key = Name(keyPath)
            let isBox = [".p12", ".pfx"].contains { key.name.lowercased().hasSuffix($0) }
            let command =
                isBox
                ? "openssl pkcs12 -legacy -in \(key.name) -nodes -out \(key.stem).pem"
                : "openssl pkey -provider legacy -provider default -in \(key.name) -out new.key"
            return Failure(
                message:
                    "\(keyPath) is encrypted with an old cipher, and OpenSSL's legacy provider is not installed here; install it, or write the file anew elsewhere: \(command)"
            )
        case .noCertificate:
            return Failure(message: "\(path) holds no certificate; export the certificate together with its key")
        case .noKey:
            let remedy =
                keyPath == path
                ? "export both together as .p12, or put the key beside it as \(Name(name.key).name)"
                : "put the key of \(name.name) there"
            return Failure(message: "\(keyPath) holds no private key; \(remedy)", isKeyless: true)
        case .keyDoesNotMatch:
            return Failure(
                message:
                    "the private key in \(keyPath) belongs to another certificate; export the certificate together with its key"
            )
        case .unreadable(let text):
            return Failure(message: "\(keyPath) cannot be read (\(text)); give a .p12, .pem or .cer file from Apple")
        }
    }
}
