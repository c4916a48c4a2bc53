// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// How many push bindings a user has, and what takes one away.
    static let bindings: [SettingDescription] = [
        .init(
            .persist, "persist", .integer(-1...3650), "30", unit: "days", example: "14",
            "How many days after the last REGISTER a binding is kept when the SIP registration has ended. 0: it ends with the registration. -1: 30 days, 10 under load and 5 when overloaded."
        ),
        .init(
            .clientMaxOffline, "client_max_offline", .integer(0...3650), "30", unit: "days", example: "60",
            "Do not push to a phone that has not registered for so many days, whatever persist says, unless its registration lasts longer. 0: no limit."
        ),
        .init(
            .bindingsPerUser, "bindings_per_user", .integer(1...256), "10", example: "4", takesRestart: true,
            "How many push bindings an AoR may have, and how many pushes one request to it may cause. A further binding replaces the oldest. An iPhone has two."
        ),
        .init(
            .unregisterPolicy, "unregister_policy", .choice(["keep", "remove"]), "keep",
            "keep: a phone that unregisters can still be woken; only a null token removes its binding. remove: unregistering removes the binding, as RFC 8599 says."
        ),
        .init(
            .oneAoRPerToken, "one_aor_per_token", .choice(["never", "always"]), "never",
            "What becomes of the bindings of other AoRs when a phone registers with their token. never: they stay, and both are pushed. always: they are removed at once; only if each app has one account, and no user can learn the token of another."
        ),
        .init(
            .removeAtNopn, "remove_at_nopn", .flag, "0",
            "1: a phone that registers without push parameters loses its push binding. 0: it keeps it."
        ),
        .init(
            .removeAtNoprid, "remove_at_noprid", .flag, "0",
            "1: a phone that sends pn-provider without pn-prid loses its push binding. 0: it keeps it; such a REGISTER only asks what is supported."
        ),
        .init(
            .removeOnCallfail, "remove_on_callfail", .integer(-1...1000), "-1", unit: "days", example: "5",
            "Remove a push binding when calls failed on so many different days, with no REGISTER of its phone between: it was pushed, and did not register. At least 3: 1 and 2 mean 3. Not while no other phone of its push service comes. 0: never. -1: 3 for a server, 0 for a gateway (upper_servers or secret_key_file)."
        ),
        .init(
            .removeOnNoanswer, "remove_on_noanswer", .integer(-1...1000), "-1", unit: "days", example: "5",
            "Remove a push binding when calls failed on so many different days, with none between that its phone answered: it was pushed, registered, and said nothing to the INVITE, not even 100. At least 3: 1 and 2 mean 3. Not while no other phone answers. 0: never. -1: 3 for a server, 0 for a gateway."
        ),
    ]
}
