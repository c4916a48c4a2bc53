// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `A token whose phone does not say what it is for` {
    private func kind(_ tokenKind: String, pushType: String = "auto") throws -> APNsTokenKind {
        var settings = Settings()
        try settings.set(.apnsTokenKind, to: tokenKind)
        try settings.set(.apnsPushType, to: pushType)
        return APNsTokenKind(settings)
    }

    @Test(
        arguments: [
            ("auto", "auto", .voip), ("auto", "no", .voip), ("auto", "voip", .voip), ("auto", "alert", .remote),
            ("auto", "background", .remote), ("voip", "alert", .voip), ("alert", "voip", .remote),
        ] as [(String, String, TokenUse)])
    func `is for what the settings say`(tokenKind: String, pushType: String, service: TokenUse) throws {
        #expect(try kind(tokenKind, pushType: pushType).service == service)
    }

    @Test(arguments: PushEvent.allCases, ["voip", "alert"])
    func `gets one kind of push, whatever happens`(event: PushEvent, tokenKind: String) throws {
        let bindings = try kind(tokenKind).named([Samples.untyped])
        let types = Plan(event, bindings, isAwake: [false]).pushes.map(\.type)
        if tokenKind == "voip" {
            #expect(types == (event == .call ? [.voip] : []))
        } else {
            #expect(types == [event == .refresh ? .background : .alert])
        }
    }

    @Test func `is the only one that gets a kind`() throws {
        let said = [Samples.voip, Samples.remote, Samples.android]
        #expect(try kind("alert").named(said) == said)
        #expect(try kind("alert").named(said + [Samples.untyped]).map(\.service) == [.voip, .remote, nil, .remote])
        #expect(try kind("voip").named(Samples.untyped).service == .voip)
    }

    @Test func `has no other words in its setting`() {
        var settings = Settings()
        #expect(throws: SettingError.self) { try settings.set(.apnsTokenKind, to: "remote") }
    }
}
