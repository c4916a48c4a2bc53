// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up. What cannot be used is missing, or stays as it was before; `problems` says why.
    ///
    /// With `keepsUnchanged` the lanes of files that have not changed go on as they are.
    func openAPNs(replacing old: APNsLanes?, keepsUnchanged: Bool, _ problems: inout [String]) -> APNsLanes? {
        guard !settings.text(.apnsKey).isEmpty || !settings.text(.apnsCert).isEmpty else { return nil }
        return APNsLanes(
            token: openAPNsKey(replacing: old?.token, keepsUnchanged, &problems),
            certified: openAPNsCertificates(replacing: old?.certified ?? [], keepsUnchanged, &problems),
            topic: apnsSettings.topic, standardIsSandbox: settings.text(.apnsEnvironment) == "sandbox")
    }

    // MARK: The key

    private func openAPNsKey(
        replacing old: APNsTokenLanes?, _ keepsUnchanged: Bool, _ problems: inout [String]
    ) -> APNsTokenLanes? {
        let stamp = FileStamp(settings.text(.apnsKey))
        if keepsUnchanged, let old, old.stamp == stamp { return old }
        return replace(old, .apnsKey, &problems, retire: { $0.retire() }) { () throws(KeyFileError) in
            let signer = try APNsKeyFile.read(settings.text(.apnsKey))
            return APNsTokenLanes(
                production: apns(.production, signer), sandbox: apns(.sandbox, signer), stamp: stamp)
        }
    }

    private func apns(_ environment: Environment, _ signer: Signer) -> APNsLane {
        let origin = apnsOrigin(environment)
        let label = "apns \(environment.name)"
        return APNsLane(
            label: label,
            pool: pool(origin, label, connections: settings.integer(.apnsConnections)),
            credential: APNsCredential(keyID: APNsKeyFile.keyID(settings), teamID: settings.text(.apnsTeamID)),
            builder: APNsRequestBuilder(payloads: payloads, settings: apnsSettings, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { try? signer.sign($0) })
    }

    // MARK: Certificates

    private func openAPNsCertificates(
        replacing old: [APNsCertifiedLanes], _ keepsUnchanged: Bool, _ problems: inout [String]
    ) -> [APNsCertifiedLanes] {
        guard !settings.text(.apnsCert).isEmpty else { return [] }
        let name = SettingsTable.description(of: .apnsCert).name
        let paths: [String]
        do throws(KeyFileError) {
            paths = try APNsCertificateFiles.paths(settings)
        } catch {
            let ending = old.isEmpty ? "" : "; the certificates read before are still used"
            problems.append("\(name): \(error.message)\(ending)")
            return old
        }
        let stamps = Dictionary(
            paths.map { ($0, APNsCertificateFile.files(of: $0, settings).map { FileStamp($0) }) },
            uniquingKeysWith: { first, _ in first })
        let before = Dictionary(old.map { ($0.file.path, $0) }, uniquingKeysWith: { first, _ in first })
        let files = APNsCertificateFiles(paths, settings) { path in
            guard let lanes = before[path], keepsUnchanged, lanes.stamps == stamps[path] else { return nil }
            return lanes.file
        }
        var lanes: [APNsCertifiedLanes] = []
        for file in files.usable {
            let seen = stamps[file.path] ?? []
            if keepsUnchanged, var same = before[file.path], same.file.identity.isSame(as: file.identity) {
                same.stamps = seen
                lanes.append(same)
                continue
            }
            do throws(TLSError) {
                lanes.append(try certified(file, seen))
            } catch {
                problems.append("\(name): \(file.path): \(error.message)")
                if let kept = before[file.path] { lanes.append(kept) }
            }
        }
        for problem in files.problems {
            let kept = before[problem.path]
            problems.append(
                "\(name): \(problem.message)\(kept == nil ? "" : "; the certificate read before is still used")")
            if let kept { lanes.append(kept) }
        }
        let current = lanes.compactMap { $0.production ?? $0.sandbox }.map { ObjectIdentifier($0) }
        for lanes in old {
            guard let lane = lanes.production ?? lanes.sandbox, !current.contains(ObjectIdentifier(lane)) else {
                continue
            }
            lanes.retire()
        }
        let now = SystemClock.wallSeconds()
        problems += lanes.compactMap { $0.file.timeProblem(now: now).map { "\(name): \($0)" } }
        return lanes
    }

    private func certified(_ file: APNsCertificateFile, _ stamps: [FileStamp?]) throws(TLSError) -> APNsCertifiedLanes {
        let tls = try Self.tls(settings, identity: file.identity)
        return APNsCertifiedLanes(
            file: file, stamps: stamps,
            production: file.certificate.allowsProduction ? apns(.production, file, tls) : nil,
            sandbox: file.certificate.allowsSandbox ? apns(.sandbox, file, tls) : nil)
    }

    private func apns(_ environment: Environment, _ file: APNsCertificateFile, _ tls: TLSContext) -> APNsLane {
        let origin = apnsOrigin(environment)
        let label = "apns \(environment.name) \(file.certificate.topics.first ?? "")"
        return APNsLane(
            label: label,
            pool: pool(
                origin, label, connections: settings.integer(.apnsConnections), tls: tls, certificate: file.path),
            credential: nil,
            builder: APNsRequestBuilder(payloads: payloads, settings: apnsSettings, authority: origin.authority),
            maxFail: Int(settings.integer(.maxFail)), loop: loop, log: log, sign: { _ in nil })
    }

    // MARK: Both

    private func apnsOrigin(_ environment: Environment) -> HTTPOrigin {
        let url = settings.text(environment == .sandbox ? .apnsSandboxURL : .apnsURL)
        return HTTPOrigin(url) ?? HTTPOrigin(host: "api.push.apple.com")
    }

    private var apnsSettings: APNsSettings { APNsSettings(settings) }
}
