// SPDX-License-Identifier: MIT

import ArgumentParser

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks a settings file or a kamailio.cfg, and the keys that it names.",
        discussion: "Exit code 0 when nothing is wrong, 1 when something is, 2 when the file cannot be read.")

    @Argument(help: "Settings file, one name = value a line; or a whole kamailio.cfg.", completion: .file())
    var file: String

    @Option(
        name: .long,
        help:
            "User that the engine runs as: root looks at the keys as this user does. Otherwise the owner of the store."
    )
    var user: String?

    @Option(
        name: [.customShort("A"), .long],
        help: ArgumentHelp("What kamailio.cfg is started with; may be repeated.", valueName: "name[=value]"))
    var define: [String] = []

    @OptionGroup var library: LibraryOptions

    func run() throws {
        let given = [("file", file)] + (user.map { [("user", $0)] } ?? []) + define.map { ("define", $0) }
        try library.run("check", given)
    }
}
