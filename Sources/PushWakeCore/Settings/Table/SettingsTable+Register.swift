// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// What a phone is told when it registers.
    static let register: [SettingDescription] = [
        .init(
            .send555, "send_555", .flag, "0",
            "Answer 555 to a REGISTER that names a push service that is not supported (RFC 8599, 5.6.1). 0: accept it without sip.pns."
        ),
        .init(
            .minExpires, "min_expires", .integer(0...86_400), "0", unit: "s", example: "300",
            "Answer 423 to a REGISTER with push parameters that asks for a shorter time (RFC 8599, 5.6.1.1). 0: accept any time."
        ),
        .init(
            .refreshBefore, "refresh_before", .integer(0...86_400), "0", unit: "s", example: "150", takesRestart: true,
            "Ask each phone by push to register again this long before its registration ends; RFC 8599 recommends 120 or more. A phone that refreshes by itself is asked 120 s before the end if it has not done so. 0: never."
        ),
        .init(
            .purr, "purr", .flag, "0", takesRestart: true,
            "1: RFC 8599 phones get a sip.pnspurr, and a request within a dialog that names it in pn-purr wakes the phone. The SIP server must stay in the path of such dialogs (Record-Route) and pass their requests to PushWake. 0: requests within a dialog wake nobody."
        ),
    ]
}
