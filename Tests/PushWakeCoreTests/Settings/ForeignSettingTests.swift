// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A setting of another product` {
    @Test(arguments: ForeignSetting.all.map(\.name.description))
    func `has one that stands for it here, or the reason why there is none`(name: String) throws {
        let foreign = try #require(ForeignSetting.all.first { $0.name.description == name })
        #expect(foreign.key != nil || foreign.note.utf8CodeUnitCount > 20)
        #expect(ForeignSetting.all.count { $0.name.description == name } == 1)
        var settings = Settings()
        guard SettingsTable.key(named: name) == nil, !["fcm_appX", "fcm_keyX"].contains(name) else { return }
        let error = #expect(throws: SettingError.self) { try settings.set(name, to: "1") }
        let remedy =
            foreign.key.map { "here it is called \(SettingsTable.description(of: $0).name)" }
            ?? foreign.note.description
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
    }

    /// The list "Advanced configuration options" of Mizutech's guide, and its chapters on RFC 8599 and websockets.
    @Test func `is there for each of Mizutech's names`() {
        let names = """
            pushnotification pushnotification_chat pushnotification_chat_when pushnotification_cancel
            pushnotification_cancel_when pushnotification_fcm pushnotification_pushkit pushnotification_web
            pushnotification_websocket pushnotification_inviteretry pushnotification_clientmaxoffline
            pushnotification_disableunreg pushnotification_regrefresh pushnotification_persists
            pushnotification_keeppupperreg pushnotification_ignoresubssame pushnotification_removeon_regfail
            pushnotification_removeon_subscallfail pushnotification_removeon_pushfail
            pushnotification_removeon_noanswer pushnotification_removeon_reject pushnotification_removeat_nopn
            pushnotification_removeat_noprid pushnotification_send555 pushnotification_upperexpire rebuildregclients
            pushnotification_ttl pushnotification_teamid pushnotification_teamidstr pushnotification_apnspushtype
            pushnotification_topic pushnotification_sound_call pushnotification_sound_chat
            pushnotification_sound_other fcm_protocol fcm_serverurl fcm_serverurl_v1 fcm_serverurl_legacy
            fcm_removenotification fcm_maxfail pushkit_protocol pushkit_serverurl_legacy pushkit_serverurl_http2
            pushkit_serverurl_http2_prod pushkit_serverurl_http2_dev pushkit_port pushkit_localport
            pushkit_sslcertpassword pushkit_loglevel prefermd5auth fcm_app fcm_key fcm_appX fcm_keyX
            """
        let known = Set(ForeignSetting.all.filter { $0.vendor == .mizutech }.map(\.name.description))
        for name in names.split(whereSeparator: \.isWhitespace) { #expect(known.contains(String(name)), "\(name)") }
    }
}
