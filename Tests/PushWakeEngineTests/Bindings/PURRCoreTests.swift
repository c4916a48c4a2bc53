// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore
import PushWakeSystem
import Testing

@testable import PushWakeClient
@testable import PushWakeEngine

private let apns = "pn-provider=apns;pn-param=T.com.example.phone.voip;pn-prid=00fc13ad"
private let fcm = "pn-provider=fcm;pn-param=project;pn-prid=abc:def"

@Suite struct `A phone that registers with purr set` {
    /// The lines of the 200's Feature-Caps.
    private func caps(_ reply: MessageReader) -> [String] {
        EngineClient.text(.featureCaps, in: reply).split(separator: "\r\n").map(String.init)
    }

    private func purr(_ line: String) throws -> String {
        let value = try #require(line.firstRange(of: "+sip.pnspurr=\""))
        return String(line[value.upperBound...].prefix { $0 != "\"" })
    }

    private func register(
        _ bench: CoreBench, _ parameters: String, instance: String = "1", cseq: Int64 = 1, expires: String = "3600"
    ) throws -> [String] {
        let contact = "<sip:bob@10.0.0.\(instance):5060;\(parameters)>;+sip.instance=\"<\(instance)>\""
        return caps(try bench.register(contact, callID: instance, cseq: cseq, expires: expires))
    }

    @Test func `is told a PURR beside its push service, the same at every refresh`() throws {
        let bench = try CoreBench(["purr": "1"])
        let line = try #require(try register(bench, apns).first)
        let purr = try purr(line)
        #expect(line == "Feature-Caps: *;+sip.pns=\"apns\";+sip.pnspurr=\"\(purr)\"")
        #expect(PURR(purr) != nil)
        for cseq in Int64(2)...4 { #expect(try register(bench, apns, cseq: cseq) == [line]) }
        let other = try register(bench, fcm, instance: "2")
        #expect(try self.purr(try #require(other.first)) != purr)
    }

    @Test func `is found by it, in capitals too, with all that it has`() throws {
        let bench = try CoreBench(["purr": "1"])
        let line = try #require(try register(bench, apns).first)
        _ = try register(bench, fcm, instance: "2")
        let purr = try purr(line)
        for text in [purr, purr.uppercased()] {
            let device = try #require(try bench.core.store.device(ofPURR: text))
            #expect(device.aor == "bob")
            #expect(device.instance == "<1>")
            #expect(device.bindings.map(\.token) == ["00fc13ad"])
        }
    }

    @Test func `is found by nothing else`() throws {
        let bench = try CoreBench(["purr": "1"])
        let line = try #require(try register(bench, apns).first)
        let purr = try purr(line)
        let altered = purr.indices.map { place in
            String(purr[..<place]) + (purr[place] == "0" ? "1" : "0") + purr[purr.index(after: place)...]
        }
        let hostile = [
            "", "bob", "*", "%", "' OR 1=1 --", String(purr.dropLast()), purr + "0", " " + purr, purr + "\r\n",
            String(repeating: "0", count: 32), String(repeating: "f", count: 1_000_000), "\u{0}", "é\u{301}",
            purr.map { "%3\($0)" }.joined(),
        ]
        for text in altered + hostile {
            #expect(try bench.core.store.device(ofPURR: text) == nil, "\(text.prefix(80))")
        }
    }

    @Test func `is told no PURR and found by none unless it is set`() throws {
        let bench = try CoreBench()
        let line = try #require(try register(bench, apns).first)
        #expect(line == "Feature-Caps: *;+sip.pns=\"apns\"")
        let stored = try #require(bench.store.bindings(of: "bob", now: SystemClock.wallSeconds()).first)
        let purr = try #require(bench.store.purr(of: stored, now: SystemClock.wallSeconds()) { PURR(high: 1, low: 2) })
        #expect(try bench.core.store.device(ofPURR: purr.text) == nil)
    }

    @Test(arguments: [
        ("pn-provider=apns", "3600"), ("pn-provider", "3600"), (apns, "0"), ("pn-provider=apns", "0"),
        ("pn-provider=fcm;pn-param=project;pn-prid=a%00b", "3600"), ("pn-provider=acme;pn-prid=1", "3600"),
        ("pn-type=firebase;app-id=project;pn-tok=abc", "3600"), ("transport=tcp", "3600"),
    ])
    func `is told none where no push is promised in RFC 8599's way`(parameters: String, expires: String) throws {
        let bench = try CoreBench(["purr": "1"])
        let lines = try register(bench, parameters, expires: expires)
        #expect(lines.allSatisfy { !$0.contains("pnspurr") })
    }

    @Test func `is told none when a proxy nearer to it pushes`() throws {
        let bench = try CoreBench(["purr": "1"])
        let reply = try bench.register(
            "<sip:bob@10.0.0.1;\(apns)>", headers: [("Feature-Caps", "*;+sip.pns=\"apns\"")])
        #expect(caps(reply).isEmpty)
    }

    @Test func `is told one for each of its services, and one for several contacts of one`() throws {
        let bench = try CoreBench(["purr": "1"])
        let two = try caps(bench.register("<sip:bob@10.0.0.1;\(apns)>,<sip:bob@10.0.0.1;\(fcm)>", callID: "a"))
        #expect(two.count == 2)
        #expect(two.allSatisfy { $0.contains("+sip.pns=") && $0.contains("+sip.pnspurr=") })
        let instance = ";+sip.instance=\"<9>\""
        let both = "<sip:bob@10.0.0.9;\(fcm)>\(instance),<sip:bob@[2001:db8::9];\(fcm)>\(instance)"
        #expect(try caps(bench.register(both, callID: "b")).count == 1)
    }

    @Test func `keeps its PURR with another token, and loses it when it is unbound`() throws {
        let bench = try CoreBench(["purr": "1"])
        let purr = try purr(try #require(try register(bench, fcm).first))
        let renewed = try register(bench, "pn-provider=fcm;pn-param=project;pn-prid=new:token", cseq: 2)
        #expect(try self.purr(try #require(renewed.first)) == purr)
        #expect(try bench.core.store.device(ofPURR: purr)?.bindings.map(\.token) == ["new:token"])
        _ = try register(bench, "pn-provider=fcm;pn-param=project;pn-prid=null", cseq: 3)
        #expect(try bench.core.store.device(ofPURR: purr) == nil)
    }
}
