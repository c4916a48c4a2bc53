// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// The AGI commands over the network, for an Asterisk without PushWake's module.
    static let fastAGI: [SettingDescription] = [
        .init(
            .fastAGIListen, "fastagi_listen", .text, "", example: "127.0.0.1:4573", takesRestart: true,
            "Address and port for FastAGI, such as 127.0.0.1:4573. Empty: off."
        ),
        .init(
            .fastAGIAllow, "fastagi_allow", .text, "127.0.0.0/8,::1/128", example: "192.0.2.10/32", takesRestart: true,
            "Networks that may connect to FastAGI, comma separated."
        ),
        .init(
            .fastAGITokenFile, "fastagi_token_file", .path, "",
            example: "/etc/pushwake/fastagi.token", takesRestart: true,
            "File whose first line every FastAGI request must carry as token=…, 8 bytes at least. Empty: fastagi_allow alone decides."
        ),
    ]
}
