// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// All certificates that `apns_cert` names: one file, or those of a directory.
struct APNsCertificateFiles {
    /// Each once, sorted by path.
    private(set) var usable: [APNsCertificateFile] = []
    /// By path, what keeps a file from being used.
    private(set) var problems: [(path: String, message: String)] = []
    /// Paths of files that hold something else and are of no concern: authorities, or a certificate that another
    /// file has together with its key.
    private(set) var ignored: [String] = []

    /// The paths to read; a directory that cannot be listed throws.
    static func paths(_ settings: Settings) throws(KeyFileError) -> [String] {
        let path = settings.text(.apnsCert)
        guard let stamp = FileStamp(path) else {
            throw KeyFileError(message: "\(path) does not exist or cannot be reached; give a file or a directory")
        }
        guard stamp.isDirectory else { return [path] }
        do throws(SystemError) {
            let names = try FileContent.names(in: path, ending: "").filter(APNsCertificateFile.isCertificate)
            let directory = path.hasSuffix("/") ? path : "\(path)/"
            return names.map { "\(directory)\($0)" }
        } catch {
            throw KeyFileError(message: "cannot \(error); make it readable for the PBX")
        }
    }

    /// Reads them; `known` gives what was read earlier and need not be read again.
    init(
        _ paths: [String], _ settings: Settings, known: (String) -> APNsCertificateFile? = { _ in nil }
    ) {
        var keyless: [(path: String, message: String)] = []
        for path in paths {
            do throws(APNsCertificateFile.Failure) {
                if let file = known(path) { add(file) } else { add(try APNsCertificateFile.read(path, settings)) }
            } catch {
                if error.isKeyless {
                    keyless.append((path, error.message))
                } else {
                    problems.append((path, error.message))
                }
            }
        }
        // Only now: the same certificate with its key may be in a file that comes later.
        for (path, message) in keyless {
            if paths.count > 1, isOfNoConcern(path) { ignored.append(path) } else { problems.append((path, message)) }
        }
    }

    private mutating func add(_ file: APNsCertificateFile) {
        if usable.contains(where: { $0.identity.leaf.isSame(as: file.identity.leaf) }) {
            ignored.append(file.path)
        } else {
            usable.append(file)
        }
    }

    private func isOfNoConcern(_ path: String) -> Bool {
        guard let bytes = try? FileContent.read(path) else { return false }
        return Certificate.any(in: bytes).allSatisfy { certificate in
            certificate.isAuthority || usable.contains { $0.identity.leaf.isSame(as: certificate) }
        }
    }

    /// What is wrong, with file and remedy, at `now`.
    func allProblems(now: Int64) -> [String] {
        problems.map(\.message) + usable.compactMap { $0.timeProblem(now: now) }
    }
}
