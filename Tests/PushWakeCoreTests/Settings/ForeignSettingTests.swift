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
        // A value of theirs may mean something else here.
        #expect(error?.message.contains(foreign.note.description) != false || foreign.note.description.isEmpty)
    }

    @Test(arguments: ForeignSetting.all)
    func `names a setting that exists`(foreign: ForeignSetting) {
        guard let key = foreign.key else { return }
        #expect(SettingsTable.key(named: SettingsTable.description(of: key).name.description) == key)
    }

    @Test func `is there for each of Mizutech's names, and for no other`() {
        // "Advanced configuration options", all 51.
        let options = """
            pushnotification pushnotification_chat pushnotification_chat_when pushnotification_cancel
            pushnotification_cancel_when pushnotification_fcm pushnotification_pushkit pushnotification_web
            pushnotification_websocket pushnotification_inviteretry pushnotification_clientmaxoffline
            pushnotification_disableunreg pushnotification_regrefresh pushnotification_persists
            pushnotification_keeppupperreg pushnotification_ignoresubssame pushnotification_removeon_regfail
            pushnotification_removeon_subscallfail pushnotification_removeon_pushfail
            pushnotification_removeon_noanswer pushnotification_removeon_reject pushnotification_upperexpire
            rebuildregclients pushnotification_ttl pushnotification_teamid pushnotification_teamidstr
            pushnotification_apnspushtype pushnotification_topic pushnotification_sound_call
            pushnotification_sound_chat pushnotification_sound_other fcm_protocol fcm_serverurl
            fcm_removenotification fcm_maxfail pushkit_protocol pushkit_serverurl_legacy pushkit_serverurl_http2
            pushkit_serverurl_http2_prod pushkit_serverurl_http2_dev pushkit_port pushkit_localport
            pushkit_sslcertpassword pushkit_loglevel prefermd5auth fcm_app fcm_key fcm_appX fcm_keyX
            fcm_serverurl_v1 fcm_serverurl_legacy
            """
        // What other chapters add, or write otherwise.
        let elsewhere = """
            pushnotification_keepupperreg pushnotification_removeat_nopn pushnotification_removeat_noprid
            pushnotification_send555 fcm_remove_notification pushkit_serverurl fcmm_app fcmm_key
            """
        let files = "fcmkey.json fcmmessage.txt pushkitmessage.txt pushkit.p12 pushkit.pem pushkit.pwd"
        // "Multiple SIP servers" and "Convert a VoIP server to a SIP-Push gateway".
        let servers = """
            allowupperserverselection allowupperseverselction routingforregister upperserverlookup
            fwdregistrations fwdregistrations_ forwardauthentications forwardauthpassword fwdunknownheaders autocreaterereguser
            userautoaddwithowner autonewusersencrypt maxlinefornewunknownparents maxlineforautotunnelusers
            MINUSERNAMELEN minpwdlength enforcestrongauth strongdigestauth fastauth allowanonymouscaller
            hasbilling blocksatellitecalls blockpremiumnumbers blocknotbilledcalls normalizedef haswebrtc
            haswebsocket hasturn defroutertp hasflash fs_use fs_pbx enableconferencerooms
            """
        #expect(words(options).count == 51)
        #expect(names(of: .mizutech) == (words(options) + words(elsewhere) + words(files) + words(servers)).sorted())
    }

    @Test func `is there for each of Flexisip's names, and for no other`() {
        // The pages on push notifications name these two; the others are of its configuration reference.
        let pages = "timeout no-badge"
        let reference = """
            filter message-time-to-live time-to-live max-queue-size retransmission-count retransmission-interval
            call-remote-push-interval display-from-uri add-to-tag-filter apple apple-certificate-dir apns-server
            apns-dev-server firebase firebase-service-accounts firebase-token-expiration-anticipation-time
            firebase-default-refresh-interval external-push-flexiapi global::flexiapi/url
            global::flexiapi/api-key external-push-uri external-push-method external-push-protocol
            register-wakeup-interval register-wakeup-threshold enable-message-summaries-pn https-proxy-host
            https-proxy-port https-proxy-username https-proxy-password firebase-projects-api-keys google
            google-projects-api-keys windowsphone windowsphone-package-sid windowsphone-application-secret
            fork-late call-fork-timeout call-push-response-timeout message-accept-timeout
            message-delivery-timeout permit-self-generated-provisional-response params-to-remove
            """
        #expect(names(of: .flexisip) == (words(pages) + words(reference)).sorted())
    }

    private func names(of vendor: ForeignSetting.Vendor) -> [String] {
        ForeignSetting.all.filter { $0.vendor == vendor }.map(\.name.description).sorted()
    }

    private func words(_ text: String) -> [String] { text.split(whereSeparator: \.isWhitespace).map(String.init) }
}
