// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What takes a push binding away, beside a dead token and the phone's own word.
    static func removalRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .removeAtNopn:
            .init(
                "remove_at_nopn", .flag, "0",
                "1: a phone that registers without push parameters loses its push binding. 0: it keeps it.")
        case .removeAtNoprid:
            .init(
                "remove_at_noprid", .flag, "0",
                "1: a phone that sends pn-provider without pn-prid loses its push binding. 0: it keeps it; such a REGISTER only asks what is supported."
            )
        case .removeOnCallfail:
            .init(
                "remove_on_callfail", .integer(-1...1000), "-1", unit: "days",
                "Remove a push binding when calls failed on so many different days, with no REGISTER of its phone between: it was pushed, and did not register. At least 3: 1 and 2 mean 3. Not while no other phone of its push service comes. 0: never. -1: 3 for a server, 0 for a gateway (upper_servers or secret_key_file)."
            )
        case .removeOnNoanswer:
            .init(
                "remove_on_noanswer", .integer(-1...1000), "-1", unit: "days",
                "Remove a push binding when calls failed on so many different days, with none between that its phone answered: it was pushed, registered, and said nothing to the INVITE, not even 100. At least 3: 1 and 2 mean 3. Not while no other phone answers. 0: never. -1: 3 for a server, 0 for a gateway."
            )
        case .removeOnReject:
            .init(
                "remove_on_reject", .flag, "1",
                "1: remove the push bindings of a user at once when the SIP server has refused (403, 404, 410, 6xx) the gateway's refresh and then the phone that was woken for it. 0: only when the upstream registration ends."
            )
        case .clientMaxOffline:
            .init(
                "client_max_offline", .integer(0...3650), "30", unit: "days",
                "Do not push to a phone that has not registered for so many days, whatever persist says, unless its registration lasts longer. 0: no limit."
            )
        case .oneAoRPerToken:
            .init(
                "one_aor_per_token", .choice(["never", "always"]), "never",
                "What becomes of the bindings of other AoRs when a phone registers with their token. never: they stay, and both are pushed. always: they are removed at once; only if each app has one account, and no user can learn the token of another."
            )
        default: nil
        }
    }
}
