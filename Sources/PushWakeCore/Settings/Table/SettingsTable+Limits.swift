// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// How many pushes there may be, and which go first when there are too many.
    static let limits: [SettingDescription] = [
        .init(
            .ignoreSame, "ignore_same", .integer(0...600_000), "0", unit: "ms", example: "5000",
            "Do not push to the same device twice for the same event within this time, unless it registers meanwhile; for messages, within twice the time. The push of a second call waits until the time is over, and is dropped if the phone registers first. 0: off."
        ),
        .init(
            .devicePushes, "device_pushes", .integer(0...1_000_000), "5", example: "10",
            "How many pushes requests may cause to one device at once, repeats included; after that, one every 5 s. Further pushes wait with their request, and are dropped if the phone registers first. 0: no limit."
        ),
        .init(
            .callerPushes, "caller_pushes", .integer(0...1_000_000), "10", example: "20",
            "The same for one caller and one AoR: after so many, one every 5 s. 0: no limit."
        ),
        .init(
            .aorPushes, "aor_pushes", .integer(0...1_000_000), "30", example: "60",
            "The same for all devices of one AoR: after so many, one a second. 0: no limit."
        ),
        .init(
            .loadCall, "load_call", policies, "always",
            "At which load calls are pushed. low_load: at levels 0 and 1; unless_overloaded: up to level 3; `pushwake stats` shows the level."
        ),
        .init(
            .loadCancel, "load_cancel", policies, "always",
            "The same for the notice that a call has ended."
        ),
        .init(
            .loadChat, "load_chat", policies, "unless_overloaded",
            "The same for everything else: messages, group messages, notices of a mailbox, REFER, texts by hand, missed calls, and pushes that ask a phone to register."
        ),
        .init(
            .queueSize, "queue_size", .integer(1...10_000_000), "100000", example: "20000", takesRestart: true,
            "How many pushes may wait for one provider and credential. If there are more, the least urgent is refused (refreshes first, then messages, then calls); log and result say so. The limit of a Web Push service is a sixteenth of it."
        ),
        .init(
            .maxFail, "max_fail", .integer(0...1_000_000), "10000", example: "100",
            "After so many failures in a row the circuit of a credential opens: from time to time one push tries it, and the first success closes the circuit. 0: never."
        ),
    ]

    private static var policies: SettingDescription.Kind { .choice(LoadPolicy.allCases.map(\.name)) }
}
