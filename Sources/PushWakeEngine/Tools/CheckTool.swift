// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem

/// `pushwake check`: a settings file or a kamailio.cfg, and the keys that it names.
struct CheckTool {
    private let file: String
    /// Who runs the engine, when somebody says so.
    private let user: String?
    /// What kamailio.cfg is started with.
    private let defines: [String]
    private let output: ToolOutput

    /// Nil without a file.
    init?(_ options: ToolOptions, _ output: ToolOutput) {
        guard let file = options["file"] else { return nil }
        self.file = file
        user = options["user"]
        defines = options.all("define")
        self.output = output
    }

    func run() throws(ToolFailure) -> Int32 {
        let text: String
        do throws(SystemError) {
            text = try TextFile.read(file)
        } catch {
            throw ToolFailure("cannot \(error); give a readable file", code: 2)
        }
        var report = CheckReport()
        let isKamailio = KamailioConfiguration.isOne(text)
        let settings = isKamailio ? report.read(kamailio: text, file: file, defines: defines) : report.read(text, file)
        if !isKamailio, text.utf8.count > FileContent.longest {
            report.add("\(file): error: is longer than 1 MB, which no engine reads; is it a settings file?")
        }
        if let problem = SettingsInspection.opennessProblem(of: file, settings) {
            report.add("\(file): warning: \(problem)")
        }
        if let problem = SettingsInspection.replaceability(of: file) { report.add("\(file): warning: \(problem)") }
        let reader = try becomeReader(settings, isKamailio: isKamailio)
        if let reader { lookForUnreadable(reader, &report) }
        for finding in SettingsInspection.inspect(settings, depth: .surroundings) {
            let location = report.location(of: finding.setting).map { "\($0.file):\($0.line)" } ?? file
            report.add("\(location): \(finding.level.name): \(finding.setting): \(finding.message)")
        }
        for line in report.lines { output.say(line) }
        guard report.lines.isEmpty else {
            if let reader { output.say("\(file): looked at as user \(reader)") }
            return 1
        }
        output.say("\(file): all is well\(reader.map { " for user \($0)" } ?? "")")
        return 0
    }

    /// What root can read, and the PBX cannot: Kamailio passes over a file of `import_file` without a word.
    private func lookForUnreadable(_ reader: String, _ report: inout CheckReport) {
        let files = [(file, "\(file):1")] + report.included.map { ($0.file, "\($0.location.file):\($0.location.line)") }
        for (path, place) in files where path != "-" && !FileStamp.isReadable(path) {
            report.add(
                "\(place): error: user \(reader) cannot read \(path), so nothing in it counts; chgrp \(reader) \(path) && chmod 640 \(path)"
            )
        }
    }

    /// Root may read everything, the PBX may not: goes on as the user of the engine, and gives the name.
    private func becomeReader(_ settings: Settings, isKamailio: Bool) throws(ToolFailure) -> String? {
        let reader: ProcessUser
        if let user {
            guard let named = ProcessUser(named: user) else {
                throw ToolFailure("there is no user \(user); name the one that the PBX runs as with --user", code: 2)
            }
            reader = named
        } else {
            guard ProcessUser.current?.isRoot == true else { return nil }
            guard let owner = Self.owner(of: settings.text(.storePath), isKamailio: isKamailio), !owner.isRoot else {
                output.say("\(file): looked at as root, who may read everything; --user NAME looks as the PBX does")
                return nil
            }
            reader = owner
        }
        guard !reader.isCurrent else { return reader.name }
        do throws(SystemError) {
            try reader.become()
        } catch {
            throw ToolFailure("cannot \(error); run it as root or as that user", code: 2)
        }
        return reader.name
    }

    /// Who runs the engine of this store: the owner of its directory. Packages give that to the group of all who may run
    /// one; Kamailio's engine is then its own, and owns the file.
    private static func owner(of store: String, isKamailio: Bool) -> ProcessUser? {
        let owner = ProcessUser(owning: Directory.parent(of: store))
        guard isKamailio, owner?.name == "pushwake" else { return owner }
        if let writer = ProcessUser(owning: store), !writer.isRoot { return writer }
        return ProcessUser(named: "kamailio") ?? owner
    }
}
