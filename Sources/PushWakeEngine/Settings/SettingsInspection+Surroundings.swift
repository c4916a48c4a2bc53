// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeSystem
internal import PushWakeTransport

/// What a start of the engine would run into on this machine, and who can read its secrets.
extension SettingsInspection {
    mutating func inspectSurroundings() {
        // Somebody else's engine has its own settings for these.
        if settings.text(.engineMode) == "supervised" {
            inspectProgram()
            inspectPlace(.engineSocket)
            if FileStamp(settings.text(.engineSocket))?.isDirectory == true {
                add(.error, .engineSocket, "\(settings.text(.engineSocket)) is a directory; set it to a file in there")
            }
            inspectGroup()
            if settings.storeChoice == .sqlite { inspectStore() }
            inspectUpstreamFile()
            if case .valkey(let address) = settings.storeChoice { inspectShared(address) }
            inspectPort(.fastAGIListen) { try? FastAGIServer.socket($0) }
            inspectPort(.httpListen) { try? HTTPSetup.address($0) }
        }
        inspectReaders()
        inspectStarts()
        inspectAppleAuthority()
    }

    /// Paths that mean this file here, and another one where the engine is started: systemd starts it in the root.
    private mutating func inspectStarts() {
        for key in SettingKey.allCases where SettingsTable.description(of: key).kind == .path {
            // A program without a slash is looked for.
            guard key != .enginePath || settings.text(key).contains("/") else { continue }
            inspectStart(of: settings.text(key), SettingsTable.description(of: key).name.description)
        }
        for pair in settings.fcmAccounts { inspectStart(of: pair.file, "fcm_key\(pair.number)") }
    }

    private mutating func inspectStart(of path: String, _ setting: String) {
        // What begins so is named as what it is.
        guard let first = path.first, !["/", "~", "'", "-"].contains(first) else { return }
        add(
            .warning, setting,
            "is no whole path, so it depends on the directory that the engine is started in; write it from / on")
    }

    private mutating func inspectProgram() {
        let program = settings.text(.enginePath)
        guard ChildProcess.find(program) == nil else { return }
        let text =
            program.utf8.contains(UInt8(ascii: "/"))
            ? "\(program) is not a program that can be run"
            : "there is no \(program) beside libpushwake and none in PATH"
        add(.error, .enginePath, "\(text); set it to where the pushwake executable is")
    }

    /// The directory of a file that the engine makes; the engine makes the last one of its directories too.
    private mutating func inspectPlace(_ key: SettingKey) {
        let directory = Directory.parent(of: settings.text(key))
        guard !directory.isEmpty else { return }
        let user = ProcessUser.currentName
        switch FileStamp(directory) {
        case .some(let stamp) where !stamp.isDirectory:
            add(.error, key, "\(directory) is not a directory; set another path")
        case .some:
            guard !FileStamp.isWritable(directory) else { return }
            add(.error, key, "user \(user) may not write to \(directory); chown \(user) \(directory)")
        case nil:
            let above = Directory.parent(of: directory)
            guard !FileStamp.isWritable(above.isEmpty ? "/" : above) else { return }
            add(
                .error, key,
                "the directory \(directory) is missing, and user \(user) cannot make it; install -d -o \(user) -m 750 \(directory)"
            )
        }
    }

    private mutating func inspectGroup() {
        let group = settings.text(.engineSocketGroup)
        guard !group.isEmpty, LocalSocket.group(named: group) == nil else { return }
        add(.error, .engineSocketGroup, "there is no group \(group); make it, or name another")
    }

    private mutating func inspectStore() {
        let path = settings.text(.storePath)
        guard FileStamp(path)?.isDirectory != true else {
            return add(
                .error, .storePath, "\(path) is a directory; set it to a file in there, such as \(path)/bindings.db")
        }
        inspectPlace(.storePath)
        inspectDatabase(path, SQLiteStore.check)
    }

    /// What a gateway keeps of its registrations at other servers.
    private mutating func inspectUpstreamFile() {
        guard settings.isGateway, let path = settings.upstreamPath else { return }
        guard FileStamp(path)?.isDirectory != true else {
            return add(.error, .storePath, "\(path) is a directory, and a gateway keeps a file there; move it away")
        }
        inspectDatabase(path, UpstreamFile.check)
    }

    private mutating func inspectDatabase(_ path: String, _ check: (String) throws(StoreError) -> Void) {
        guard FileStamp(path) != nil else { return }
        do throws(SystemError) {
            let start = try FileContent.read(path, atMost: Self.sqliteMagic.count)
            guard start.isEmpty || start == Self.sqliteMagic else {
                return add(
                    .error, .storePath, "\(path) is not an SQLite database; set another path, or move the file away")
            }
        } catch {
            return add(.error, .storePath, "cannot \(error); let the user of the engine read and write it")
        }
        do throws(StoreError) {
            try check(path)
        } catch {
            // A writer that is at work, or a directory that may not be written to, is no fault of the file.
            let text = "\(error)"
            if text.hasPrefix(path) { add(.error, .storePath, text) }
        }
    }

    /// A store that nodes share.
    private mutating func inspectShared(_ address: ValkeyAddress) {
        if case .tcp(let host, let port, _) = address.place,
            let socket = SocketAddress(ip: host == "localhost" ? "127.0.0.1" : host, port: port),
            let code = Self.refusal(of: socket)
        {
            add(
                .warning, .store,
                "nobody serves \(host):\(port) (\(SystemError("connect", code: code))); start the server, or write its address"
            )
        }
        if case .unix(let path) = address.place, FileStamp(path) == nil {
            add(.warning, .store, "there is no socket \(path); start the server, or write where its socket is")
        }
        let path = settings.text(.storePasswordFile)
        if !path.isEmpty {
            do throws(SystemError) {
                _ = try FileContent.read(path, atMost: 1)
            } catch {
                add(.error, .storePasswordFile, "cannot \(error); let the user of the engine read it")
            }
        }
        if path.isEmpty, !address.user.isEmpty {
            add(
                .error, .store,
                "names a user, and without a password the server takes the engine for its default user; set store_password_file too, to an empty file for a user without password"
            )
        }
        if settings.integer(.refreshBefore) > 0 {
            add(
                .warning, .refreshBefore,
                "no phone is asked to register while nodes share the store, since each would ask all; set it to 0")
        }
    }

    /// Milliseconds for a server that is up to take a connection.
    private static let patience: Int32 = 1000

    /// Why no connection to it can be made; nil when one can, or it says nothing in time.
    private static func refusal(of address: SocketAddress) -> Int32? {
        guard let socket = try? Socket.connect(to: address) else { return nil }
        guard socket.waitWritable(milliseconds: patience) else { return nil }
        let code = socket.connectResult()
        return code == 0 ? nil : code
    }

    /// How each database begins (sqlite.org/fileformat2.html, 1.3).
    private static let sqliteMagic = Array("SQLite format 3\0".utf8)

    private mutating func inspectPort(_ key: SettingKey, _ socket: (String) -> SocketAddress?) {
        let address = settings.text(key)
        guard !address.isEmpty, let socket = socket(address) else { return }
        // An engine that runs with these settings has the port, and is meant to.
        guard (try? LocalSocket.connect(path: settings.text(.engineSocket))) == nil else { return }
        do throws(SystemError) {
            _ = try Socket.listen(on: socket)
        } catch {
            add(.error, key, "cannot listen on \(address): \(error); choose another port")
        }
    }

    // MARK: Secrets

    private mutating func inspectReaders() {
        let others: [SettingKey] = [
            .flexiAPIKeyFile, .storePasswordFile, .httpProxyAuth, .httpKey, .httpTokenFile, .httpUsers,
        ]
        for key in Provider.allCases.flatMap(\.row.secretFiles) + others {
            inspectReaders(of: settings.text(key), SettingsTable.description(of: key).name.description)
        }
        for pair in settings.fcmAccounts { inspectReaders(of: pair.file, "fcm_key\(pair.number)") }
        for path in settings.webhookHeaders.compactMap(\.path) { inspectReaders(of: path, "webhook_headers") }
        var directories: Set<String> = []
        let files = (Provider.allCases.flatMap(\.row.secretFiles) + others + [.storePath]).map { key in
            (name: SettingsTable.description(of: key).name.description, path: settings.text(key))
        }
        for file in files where !file.path.isEmpty && directories.insert(Directory.parent(of: file.path)).inserted {
            if let problem = Self.replaceability(of: file.path) { add(.warning, file.name, problem) }
        }
    }

    /// Whether everybody can put another file in the place of this one; nil when nobody can. In a directory such as /tmp only
    /// its owner can.
    static func replaceability(of path: String) -> String? {
        let directory = Directory.parent(of: path)
        guard !directory.isEmpty, let mode = FileStamp.mode(of: directory), mode & 0o1002 == 0o002 else { return nil }
        return "everybody can replace files in \(directory); chmod o-w \(directory)"
    }

    private mutating func inspectReaders(of path: String, _ setting: String) {
        guard !path.isEmpty, let stamp = FileStamp(path) else { return }
        guard stamp.isDirectory else {
            if Self.isOpen(path) { add(.warning, setting, Self.opennessText(path)) }
            return
        }
        for name in (try? FileContent.names(in: path, ending: "")) ?? [] where APNsCertificateFile.isCertificate(name) {
            if Self.isOpen("\(path)/\(name)") { add(.warning, setting, Self.opennessText("\(path)/\(name)")) }
        }
    }

    /// Whether a settings file that holds a secret itself can be read by everybody; nil when all is well.
    static func opennessProblem(of path: String, _ settings: Settings) -> String? {
        let headers = settings.text(.webhookHeaders).lowercased()
        let hasSecret =
            settings.text(.httpProxy).contains("@") || headers.contains("authorization") || headers.contains("key:")
        guard hasSecret, isOpen(path) else { return nil }
        return "\(opennessText(path)), since it holds a password"
    }

    /// Only of a file: nobody shall take the rights of a device away.
    private static func isOpen(_ path: String) -> Bool {
        FileStamp.isRegular(path) && FileStamp.mode(of: path).map { $0 & 0o004 != 0 } ?? false
    }

    private static func opennessText(_ path: String) -> String { "everybody can read \(path); chmod o= \(path)" }

    // MARK: Apple

    /// Apple's push servers have certificates under this root since 2025
    /// (developer.apple.com/news/?id=09za8wzy).
    private static let appleRoot = "USERTrust RSA Certification Authority"

    private mutating func inspectAppleAuthority() {
        let path = settings.text(.caFile)
        let usesApple = !settings.text(.apnsKey).isEmpty || !settings.text(.apnsCert).isEmpty
        guard !path.isEmpty, usesApple, !settings.isChanged(.apnsURL), let bytes = try? FileContent.read(path),
            let certificates = try? Certificate.all(inPEM: bytes), !certificates.isEmpty
        else { return }
        guard !certificates.contains(where: { $0.subject("CN") == Self.appleRoot }) else { return }
        add(
            .warning, .caFile,
            "\(path) lacks \(Self.appleRoot), which Apple's servers are verified with; add it, or leave ca_file empty")
    }
}
