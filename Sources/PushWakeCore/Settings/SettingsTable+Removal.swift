// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What takes a push binding away, beside a dead token and the phone's own word.
    static func removalRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .removeAtNopn:
            .init(
                "remove_at_nopn", .flag, "0",
                "1: a phone that registers and says nothing of push loses its push binding. 0: it keeps it.")
        case .removeAtNoprid:
            .init(
                "remove_at_noprid", .flag, "0",
                "1: so does a phone that sends pn-provider without pn-prid. 0: it only asks what is supported.")
        case .removeOnCallfail:
            .init(
                "remove_on_callfail", .integer(-1...1000), "-1",
                "A push binding goes after so many calls within 18 hours for which its phone was pushed and did not come. 1: after 5. 0: it stays. -1: 1 for a server, 0 for a gateway (upper_servers or secret_key_file)."
            )
        case .removeOnNoanswer:
            .init(
                "remove_on_noanswer", .integer(-1...1), "-1",
                "1: a push binding goes when its phone was pushed for a call, came, and then said nothing to the INVITE, not even 100, at three calls in a row within 18 hours. 0: it stays. -1: 1 for a server, 0 for a gateway."
            )
        case .removeOnReject:
            .init(
                "remove_on_reject", .flag, "1",
                "1: the push bindings of a user go at once when the SIP server has refused (403, 404, 410, 6xx) the gateway's refresh and then the phone that was woken for it. 0: only when the upstream registration ends."
            )
        case .clientMaxOffline:
            .init(
                "client_max_offline", .integer(0...3650), "30", unit: "days",
                "A phone that has not registered for so many days is pushed no more, whatever persist says, unless its registration lasts longer. 0: no bound."
            )
        default: nil
        }
    }
}
