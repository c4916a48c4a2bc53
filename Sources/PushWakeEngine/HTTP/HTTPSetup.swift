// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// What the settings of `http_listen` say, read from them and from the files that they name.
enum HTTPSetup {
    private static let shortestToken = 16
    /// Lines of one file that are told at once.
    private static let mostProblems = 5

    /// The address of `http_listen`; a port alone is one of 127.0.0.1.
    static func address(_ text: String) throws(SettingError) -> SocketAddress {
        let colon = text.lastIndex(of: ":")
        let host = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
        let port = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard let number = UInt16(port), let address = SocketAddress(ip: host, port: number) else {
            throw SettingError(
                setting: "http_listen",
                message: "\"\(text.prefix(80))\" is not an address and port; write 127.0.0.1:8088")
        }
        return address
    }

    /// Whether only this machine can reach it.
    static func isLoopback(_ address: SocketAddress) -> Bool { address.ip.hasPrefix("127.") || address.ip == "::1" }

    /// The certificate of `http_cert` with its key; nil without one.
    static func identity(_ settings: Settings) throws(KeyFileError) -> TLSIdentity? {
        let path = settings.text(.httpCert)
        guard !path.isEmpty else { return nil }
        let remedy = "give a PEM file with the certificate, its chain and, unless http_key has it, the private key"
        let certificate = try contents(path, remedy)
        let keyPath = settings.text(.httpKey)
        let key = keyPath.isEmpty ? nil : try contents(keyPath, "give the private key of http_cert, PEM")
        do throws(IdentityError) {
            return try TLSIdentity.read(certificate, keyFile: key, password: "")
        } catch {
            throw KeyFileError(message: "\(path): \(reason(error)); \(remedy)")
        }
    }

    private static func reason(_ error: IdentityError) -> String {
        switch error {
        case .noCertificate: "it holds no certificate"
        case .noKey: "it holds no private key, and http_key is empty"
        case .keyDoesNotMatch: "the private key is another's"
        case .wrongPassword, .oldEncryption: "the private key is encrypted"
        case .unreadable(let text): text
        }
    }

    /// The operator's token; empty without a file.
    static func token(_ settings: Settings) throws(KeyFileError) -> [UInt8] {
        let path = settings.text(.httpTokenFile)
        guard !path.isEmpty else { return [] }
        let remedy = "write a first line of \(shortestToken) bytes or more, such as from: openssl rand -hex 24"
        let line = FileContent.firstLine(of: try contents(path, remedy))
        guard line.count >= shortestToken, line.count <= 4096, line.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw KeyFileError(message: "\(path) holds no token that can be used; \(remedy)")
        }
        return line
    }

    /// The users of `http_users`; nobody without a file.
    static func users(_ settings: Settings) throws(KeyFileError) -> HTTPUsers {
        let path = settings.text(.httpUsers)
        guard !path.isEmpty else { return HTTPUsers() }
        return HTTPUsers(
            try contents(
                path, "give a file of user:realm:HA1 lines, readable for the PBX",
                ifTooLong: "keep the users who report tokens over HTTP and the operators, some 18,000 lines"))
    }

    /// The first lines of `http_users` that cannot be used, by file and number.
    static func problems(of users: HTTPUsers, _ settings: Settings) -> [String] {
        users.problems.prefix(mostProblems).map { "\(settings.text(.httpUsers)):\($0.line): \($0.message)" }
    }

    /// Users who may do everything.
    static func operators(_ settings: Settings) -> [String] {
        settings.text(.httpOperators).utf8.split(separator: UInt8(ascii: ",")).map { name in
            String(decoding: name.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        }
    }

    /// Files that may change while the engine runs.
    static func files(_ settings: Settings) -> [String] {
        [.httpCert, .httpKey, .httpTokenFile, .httpUsers].map { settings.text($0) }
    }

    private static func contents(
        _ path: String, _ remedy: String, ifTooLong shorter: String = "leave out what is not needed"
    ) throws(KeyFileError) -> [UInt8] {
        do throws(SystemError) {
            return FileContent.withoutMark(try FileContent.read(path))
        } catch {
            guard error.isTooLong else { throw KeyFileError(message: "cannot \(error); \(remedy)") }
            throw KeyFileError(message: "\(path) is longer than \(FileContent.longest >> 20) MB; \(shorter)")
        }
    }
}

extension SettingsInspection {
    /// The listener: what keeps it from starting, who could use it, and who could listen in.
    mutating func inspectHTTP() {
        let text = settings.text(.httpListen)
        guard !text.isEmpty else { return }
        do throws(SettingError) {
            let address = try HTTPSetup.address(text)
            if !HTTPSetup.isLoopback(address), settings.text(.httpCert).isEmpty {
                add(
                    .warning, .httpListen,
                    "\(text) can be reached from outside, and passwords go over it in the clear; set http_cert, or listen on 127.0.0.1 behind a proxy with TLS"
                )
            }
        } catch {
            add(.error, .httpListen, error.message)
        }
        if settings.text(.httpTokenFile).isEmpty, settings.text(.httpUsers).isEmpty {
            add(
                .warning, .httpListen,
                "nobody may use it but for /healthz; set http_token_file, or http_users and http_operators")
        }
        inspectHTTPFiles()
    }

    private mutating func inspectHTTPFiles() {
        do throws(KeyFileError) {
            let token = try HTTPSetup.token(settings)
            if token.isEmpty, HTTPSetup.operators(settings).isEmpty, !settings.text(.httpUsers).isEmpty {
                add(.warning, .httpOperators, "nobody may read /metrics; name a user, or set http_token_file")
            }
        } catch {
            add(.warning, .httpTokenFile, error.message)
        }
        do throws(KeyFileError) {
            let users = try HTTPSetup.users(settings)
            for problem in HTTPSetup.problems(of: users, settings) { add(.warning, .httpUsers, problem) }
            let realm = settings.text(.httpRealm)
            if let other = users.realms.first, !users.realms.contains(where: { $0.isSameBytes(as: realm) }) {
                add(
                    .warning, .httpRealm,
                    "http_users has no line of realm \(realm), but of \(other.prefix(80)), so nobody can log in; set http_realm = \(other.prefix(80))"
                )
                return
            }
            for name in HTTPSetup.operators(settings) where !users.has(name, in: realm) {
                add(
                    .warning, .httpOperators,
                    "http_users has no \(name.prefix(80)) of realm \(realm); add the line of htdigest")
            }
        } catch {
            add(.warning, .httpUsers, error.message)
        }
        guard depth >= .keys else { return }
        do throws(KeyFileError) {
            guard let identity = try HTTPSetup.identity(settings) else { return }
            let left = identity.leaf.expiresAt - SystemClock.wallSeconds()
            if left < 0 {
                add(.warning, .httpCert, "\(settings.text(.httpCert)) has expired; renew it")
            } else if left < 14 * 86_400 {
                add(.warning, .httpCert, "\(settings.text(.httpCert)) expires in \(left / 86_400) days; renew it")
            }
        } catch {
            add(.warning, .httpCert, error.message)
        }
    }
}
