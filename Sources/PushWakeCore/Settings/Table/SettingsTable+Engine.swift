// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// The process that keeps bindings and sends pushes, and how the PBX reaches it.
    static let engine: [SettingDescription] = [
        .init(
            .engineMode, "engine_mode", .choice(["supervised", "external"]), "supervised", takesRestart: true,
            "supervised: this module starts the engine and restarts it when it dies. external: systemd or another PBX on this host runs it."
        ),
        .init(
            .enginePath, "engine_path", .path, "pushwake", example: "/usr/lib/pushwake/pushwake", takesRestart: true,
            "The pushwake executable; a name without a slash is looked for next to libpushwake, then in PATH."
        ),
        .init(
            .engineSocket, "engine_socket", .path, "/run/pushwake/engine.sock",
            example: "/run/pushwake/asterisk.sock", takesRestart: true,
            "Unix socket between engine and PBX. One engine per socket."
        ),
        .init(
            .engineSocketGroup, "engine_socket_group", .text, "", example: "asterisk", takesRestart: true,
            "Group, by name or number, whose members may connect to engine_socket, such as asterisk for AGI. The user of the engine must be in it. Empty: the engine's own group."
        ),
        .init(
            .engineTimeout, "engine_timeout", .integer(1...10_000), "100",
            unit: "ms", example: "200",
            "How long a SIP worker waits for the engine at most. Then the request goes on without push. A server of store has 80 % of this time; if it needs longer, a call is held until it answers, up to 5 s, anything else goes on without push, and a REGISTER is stored later."
        ),
        .init(
            .logLevel, "log_level", .choice(["error", "warning", "notice", "info", "debug"]), "info",
            "What the engine writes to the log of the PBX."
        ),
    ]
}
