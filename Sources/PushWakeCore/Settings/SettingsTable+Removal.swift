// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What takes a push binding away, beside a dead token and the phone's own word.
    static func removalRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .removeAtNopn:
            .init(
                "remove_at_nopn", .flag, "0", other: "m:pushnotification_removeat_nopn",
                "1: a phone that registers and says nothing of push loses its push binding. 0: it keeps it.")
        case .removeAtNoprid:
            .init(
                "remove_at_noprid", .flag, "0", other: "m:pushnotification_removeat_noprid",
                "1: so does a phone that sends pn-provider without pn-prid. 0: it only asks what is supported.")
        case .removeOnCallfail:
            .init(
                "remove_on_callfail", .integer(0...1000), "0", other: "m:pushnotification_removeon_subscallfail",
                "A push binding goes after so many calls within 18 hours for which its phone was pushed and did not come. 1: after 5. 0: it stays."
            )
        case .removeOnNoanswer:
            .init(
                "remove_on_noanswer", .flag, "0", other: "m:pushnotification_removeon_noanswer",
                "1: a push binding goes after the first such call.")
        case .clientMaxOffline:
            .init(
                "client_max_offline", .integer(0...3650), "0", unit: "days",
                other: "m:pushnotification_clientmaxoffline",
                "A phone that has not registered for so many days is pushed no more, whatever persist says. 0: no bound."
            )
        default: nil
        }
    }
}
