// SPDX-License-Identifier: MIT

import Testing

@testable import PushWakeCore

@Suite struct `A served request` {
    private func isForAnotherSite(_ fields: [(String, String)]) throws -> Bool {
        let headers = [("host", "pbx.example:8088")] + fields
        let request = ServedRequest(
            method: "POST", target: "/v1/send", headers: headers.map { .init(name: $0.0, value: $0.1) })
        return try #require(request).isForAnotherSite
    }

    @Test(arguments: [
        ("http://pbx.example:8088", false), ("https://PBX.example:8088", false), ("http://pbx.example", true),
        ("http://evil.example:8088", true), ("http://pbx.example:80888", true), ("null", true), ("", true),
        ("pbx.example:8088", true), ("http://", true), ("://", true),
    ])
    func `is told by its origin where a browser says no more`(origin: String, isForeign: Bool) throws {
        #expect(try isForAnotherSite([("origin", origin)]) == isForeign)
    }

    @Test(arguments: [
        ("same-origin", false), ("none", false), ("same-site", true), ("cross-site", true), ("", true),
    ])
    func `is told by Fetch Metadata first`(site: String, isForeign: Bool) throws {
        #expect(try isForAnotherSite([("sec-fetch-site", site)]) == isForeign)
        #expect(try isForAnotherSite([("origin", "null"), ("sec-fetch-site", site)]) == isForeign)
    }

    @Test func `without either is a program's`() throws { #expect(try !isForAnotherSite([])) }
}
