// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Address of a capture server` {
    @Test(arguments: [
        ("192.0.2.9:9060", "udp:192.0.2.9:9060"), ("udp:homer.example.com:9060", "udp:homer.example.com:9060"),
        ("tcp:homer:9061", "tcp:homer:9061"), ("tls:[2001:db8::9]:9062", "tls:[2001:db8::9]:9062"),
    ])
    func `is host and port, after a transport or without one`(_ text: String, _ shown: String) throws {
        #expect(try CaptureAddress(text).description == shown)
    }

    @Test(arguments: [
        "homer", "homer:", "homer:0", "homer:65536", "udp:9060", ":9060", "2001:db8::9:9060", "sctp:homer:9060",
        "udp:ho mer:9060", "udp:user@homer:9060", "https://homer:9060", "tcp://homer:9060", "[]:9060",
    ])
    func `is refused with what to write`(_ text: String) {
        let mistake = #expect(throws: CaptureAddress.Mistake.self) { _ = try CaptureAddress(text) }
        #expect(mistake?.remedy.hasPrefix("write host:port for UDP") == true)
    }

    @Test func `is checked where it is set`() throws {
        var settings = Settings()
        try settings.set("hep_capture", to: "tls:homer.example.com:9060")
        try settings.set("hep_capture", to: "")
        let error = #expect(throws: SettingError.self) { try settings.set("hep_capture", to: "homer") }
        #expect(error?.message.contains("tls:host:port") == true)
    }
}
