// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator

@Suite struct `APNs service` {
    private func answer(_ request: ReceivedRequest, rules: APNsRules = APNsRules()) -> ProviderAnswer {
        var service = ServiceFixture.makeAPNs()
        var session = APNsSession()
        service.rules = rules
        return service.answer(request, session: &session, now: ServiceFixture.now)
    }

    @Test func `accepts a VoIP push and sends its id back`() {
        let answer = answer(ServiceFixture.makePush())
        #expect(answer.status == 200)
        #expect(answer["apns-id"] == ServiceFixture.id)
        #expect(answer.body.isEmpty)
        #expect(answer.push != nil)
    }

    @Test func `makes up an id where the request has none`() {
        let answer = answer(ServiceFixture.makePush(["apns-id": nil]))
        #expect(answer.status == 200)
        #expect(answer["apns-id"]?.count == 36)
    }

    @Test(arguments: [
        ("alert", "com.example.phone", "10"), ("background", "com.example.phone", "5"),
        ("background", "com.example.phone", "1"), ("voip", "com.example.phone.voip", "5"),
        ("pushtotalk", "com.example.phone.voip-ptt", "10"), ("location", "com.example.phone.location-query", "5"),
        ("complication", "com.example.phone.complication", "10"), ("mdm", "com.apple.mgmt.External.1", "10"),
        ("fileprovider", "com.example.phone.pushkit.fileprovider", "5"),
        ("liveactivity", "com.example.phone.push-type.liveactivity", "10"),
        ("widgets", "com.example.phone.push-type.widgets", "5"),
        ("controls", "com.example.phone.push-type.controls", "5"),
    ])
    func `accepts each push type with its own topic`(type: String, topic: String, priority: String) {
        let request = ServiceFixture.makePush(
            ["apns-push-type": type, "apns-topic": topic, "apns-priority": priority])
        #expect(answer(request).status == 200)
    }

    @Test(arguments: ["a:b_c-D.e~", "00FC", "abc"])
    func `accepts tokens of any length in unreserved characters`(token: String) {
        #expect(answer(ServiceFixture.makePush(path: "/3/device/\(token)")).status == 200)
    }

    @Test(arguments: [
        ("/4/device/ab", "POST", 404, "BadPath"), ("/3/devices/ab", "POST", 404, "BadPath"),
        ("/3/device/ab/cd", "POST", 404, "BadPath"), ("/3/device/", "POST", 400, "MissingDeviceToken"),
        ("/3/device", "POST", 400, "MissingDeviceToken"), ("/3/device/ab", "GET", 405, "MethodNotAllowed"),
        ("/3/device/ab%20cd", "POST", 400, "BadDeviceToken"), ("/3/device/ab?x=1", "POST", 400, "BadDeviceToken"),
        ("/3/device/unregistered-1", "POST", 410, "Unregistered"), ("/3/device/expired1", "POST", 410, "ExpiredToken"),
        ("/3/device/invalid-1", "POST", 400, "BadDeviceToken"),
        ("/3/device/mismatch-1", "POST", 400, "DeviceTokenNotForTopic"),
    ])
    func `refuses a path or a token`(path: String, method: String, status: Int, reason: String) {
        let answer = answer(ServiceFixture.makePush(path: path, method: method))
        #expect(answer.status == status)
        #expect(answer.json?["reason"]?.string == reason)
        #expect(answer.push == nil)
    }

    @Test func `says since when a token is gone`() {
        let answer = answer(ServiceFixture.makePush(path: "/3/device/unregistered-1"))
        #expect(answer.json?["timestamp"]?.integer == ServiceFixture.now)
    }

    @Test(
        arguments: [
            ("apns-topic", nil, "MissingTopic"), ("apns-topic", "", "BadTopic"),
            ("apns-topic", "com.example..", "BadTopic"),
            ("apns-topic", "com.example phone", "BadTopic"),
            ("apns-topic", "com.example.phone", "DeviceTokenNotForTopic"),
            ("apns-topic", "com.example.phone.complication", "InvalidPushType"),
            ("apns-push-type", "call", "InvalidPushType"),
            ("apns-push-type", "alert", "InvalidPushType"), ("apns-priority", "7", "BadPriority"),
            ("apns-priority", "", "BadPriority"), ("apns-expiration", "soon", "BadExpirationDate"),
            ("apns-expiration", "-1", "BadExpirationDate"), ("apns-expiration", "", "BadExpirationDate"),
            ("apns-id", "0f8fad5bd9cb469fa16570867728950e", "BadMessageId"), ("apns-id", "1", "BadMessageId"),
            ("apns-collapse-id", String(repeating: "x", count: 65), "BadCollapseId"),
        ] as [(String, String?, String)])
    func `refuses a bad header with 400`(name: String, value: String?, reason: String) {
        let answer = answer(ServiceFixture.makePush([name: value]))
        #expect(answer.status == 400)
        #expect(answer.json?["reason"]?.string == reason)
    }

    @Test func `refuses a background push with priority 10`() {
        let request = ServiceFixture.makePush(["apns-push-type": "background", "apns-topic": "com.example.phone"])
        #expect(answer(request).json?["reason"]?.string == "BadPriority")
    }

    @Test func `refuses a topic that the team may not use`() {
        var rules = APNsRules()
        rules.topics = ["com.example.other"]
        #expect(answer(ServiceFixture.makePush(), rules: rules).json?["reason"]?.string == "TopicDisallowed")
        rules.topics = ["com.example.phone"]
        #expect(answer(ServiceFixture.makePush(), rules: rules).status == 200)
    }

    @Test(arguments: ["apns-topic", "apns-id", "x-own"])
    func `refuses a header that comes twice`(name: String) {
        let request = ServiceFixture.makePush(["x-own": "1"], extra: [(name, "1")])
        #expect(answer(request).json?["reason"]?.string == "DuplicateHeaders")
    }

    @Test(arguments: [
        ("", "voip", 400, "PayloadEmpty"), ("[1]", "voip", 400, "PayloadEmpty"),
        (#"{"a":"#, "voip", 400, "PayloadEmpty"),
    ])
    func `refuses what is not a JSON object`(body: String, type: String, status: Int, reason: String) {
        let answer = answer(ServiceFixture.makePush(body: body))
        #expect(answer.status == status)
        #expect(answer.json?["reason"]?.string == reason)
    }

    @Test(arguments: [("voip", "com.example.phone.voip", 5_120), ("alert", "com.example.phone", 4_096)])
    func `refuses a payload over the limit of its type`(type: String, topic: String, limit: Int) {
        let changes = ["apns-push-type": type, "apns-topic": topic]
        let fits = #"{"a":""# + String(repeating: "x", count: limit - 8) + #""}"#
        #expect(answer(ServiceFixture.makePush(changes, body: fits)).status == 200)
        let answer = answer(ServiceFixture.makePush(changes, body: fits + " "))
        #expect(answer.status == 413)
        #expect(answer.json?["reason"]?.string == "PayloadTooLarge")
    }

    @Test(
        arguments: [
            (nil, "MissingProviderToken"), ("basic abc", "InvalidProviderToken"),
            ("bearer abc", "InvalidProviderToken"),
            ("bearer " + ServiceFixture.makeProviderToken(key: "NOTKNOWN11"), "InvalidProviderToken"),
            ("bearer " + ServiceFixture.makeProviderToken(team: "NOTMYTEAM1"), "InvalidProviderToken"),
            ("bearer " + ServiceFixture.makeProviderToken(algorithm: "RS256"), "InvalidProviderToken"),
            ("bearer " + ServiceFixture.makeProviderToken(signature: "bad"), "InvalidProviderToken"),
            ("bearer " + ServiceFixture.makeProviderToken(issued: ServiceFixture.seconds + 61), "InvalidProviderToken"),
            (
                "bearer " + ServiceFixture.makeProviderToken(issued: ServiceFixture.seconds - 3_601),
                "ExpiredProviderToken"
            ),
        ] as [(String?, String)])
    func `refuses a provider token with 403`(value: String?, reason: String) {
        let answer = answer(ServiceFixture.makePush(["authorization": value]))
        #expect(answer.status == 403)
        #expect(answer.json?["reason"]?.string == reason)
    }

    @Test func `refuses a token that grows old on its connection`() {
        var service = ServiceFixture.makeAPNs()
        var session = APNsSession()
        let request = ServiceFixture.makePush()
        #expect(service.answer(request, session: &session, now: ServiceFixture.now).status == 200)
        let later = ServiceFixture.now + 3_600_000
        #expect(service.answer(request, session: &session, now: later).status == 200)
        #expect(service.answer(request, session: &session, now: later + 1_000).reason == "ExpiredProviderToken")
    }

    @Test func `verifies the same token once per connection`() {
        var checks = 0
        var service = APNsService(keys: [
            .init(id: "KEY1234567", team: "DEF123GHIJ") { signed, signature in
                checks += 1
                return ServiceFixture.isGood(signed, signature)
            }
        ])
        var session = APNsSession()
        for _ in 0..<5 { _ = service.answer(ServiceFixture.makePush(), session: &session, now: ServiceFixture.now) }
        #expect(checks == 1)
    }

    @Test func `lets a connection change its token once in twenty minutes`() {
        var service = ServiceFixture.makeAPNs()
        var session = APNsSession()
        func reason(_ issued: Int64, at time: Int64) -> String {
            let token = "bearer " + ServiceFixture.makeProviderToken(issued: ServiceFixture.seconds + issued)
            let request = ServiceFixture.makePush(["authorization": token])
            return service.answer(request, session: &session, now: ServiceFixture.now + time * 1_000).reason
        }
        #expect(reason(0, at: 0) == "ok")
        #expect(reason(1, at: 1) == "ok")
        #expect(reason(2, at: 2) == "TooManyProviderTokenUpdates")
        #expect(reason(1, at: 3) == "ok")
        #expect(reason(1_201, at: 1_202) == "ok")
    }

    @Test func `keeps one key to a connection`() {
        var service = ServiceFixture.makeAPNs()
        var session = APNsSession()
        _ = service.answer(ServiceFixture.makePush(), session: &session, now: ServiceFixture.now)
        let other = ServiceFixture.makePush(
            ["authorization": "bearer " + ServiceFixture.makeProviderToken(key: "OTHER67890")])
        let answer = service.answer(other, session: &session, now: ServiceFixture.now)
        #expect(answer.status == 403)
        #expect(answer.reason == "UnrelatedKeyIdInToken")
    }

    @Test func `knows 32 reasons`() { #expect(APNsReason.allCases.count == 32) }
}
