// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

private let token = "32c6ad8e12ab4f00"

@Suite struct `A token` {
    /// In whatever way it comes in, a binding is made of it.
    private func kept(_ text: String, _ provider: Provider) -> String {
        Binding(provider: provider, token: text, dialect: .rfc8599).token
    }

    @Test(arguments: [
        token, "32C6AD8E12AB4F00", "32c6AD8e12ab4F00", " \(token)", "\(token)\r\n", "\t\(token) ", "<\(token)>",
        "< \(token) >", "32c6ad8e 12ab4f00", "<32C6AD8E 12AB4F00>", " <32c6 ad8e 12ab 4f00>\n",
    ])
    func `of Apple has one spelling`(text: String) {
        #expect(kept(text, .apns) == token)
    }

    @Test(arguments: ["", " ", "<>", "aToken", "abc:DEF", "32c6-AD8E", "<32c6", "ab>", "é"])
    func `of Apple that is not hexadecimal keeps its letters`(text: String) {
        let bare = text == " " || text == "<>" ? "" : text
        #expect(kept(text, .apns) == bare)
    }

    @Test(arguments: [
        "https://push.example.net/p/aB?c=D", "HTTPS://push.example.net/p/aB?c=D", "https://PUSH.Example.NET/p/aB?c=D",
        "https://push.example.net:443/p/aB?c=D", "https://push.example.net./p/aB?c=D",
        "https://push.example.net/%70/%61B?c=D", "<https://push.example.net/p/aB?c=D>",
        "  https://push.example.net/p/aB?c=D\n", "https://push.example.net/p/aB?c=D#x",
    ])
    func `of Web Push has one spelling`(text: String) {
        #expect(kept(text, .webpush) == "https://push.example.net/p/aB?c=D")
    }

    @Test(arguments: [
        // Other services, other ways.
        ("https://push.example.net:8443/p", "https://push.example.net:8443/p"),
        ("https://push.example.net", "https://push.example.net/"),
        ("https://push.example.net?a", "https://push.example.net/?a"),
        ("https://[2001:DB8::1]:443/p", "https://[2001:db8::1]/p"),
        // What an escape stands for stays apart from the sign that divides.
        ("https://push.example.net/a%2fb%3a%zz%", "https://push.example.net/a%2Fb%3A%zz%"),
        ("https://push.example.net/a%252Fb", "https://push.example.net/a%252Fb"),
        ("https://push.example.net/%C3%bc", "https://push.example.net/%C3%BC"),
        // Nothing that could be pushed to.
        ("http://PUSH.example.net/p", "http://PUSH.example.net/p"), ("https://user@HOST/p", "https://user@HOST/p"),
        ("https://./p", "https:///p"), ("abc", "abc"), ("", ""),
    ])
    func `of Web Push is the URL that a service sees`(text: String, kept: String) {
        #expect(self.kept(text, .webpush) == kept)
    }

    @Test(arguments: ["fGx:APA91b-_", "fGx%3AAPA91b-_", "fGx%3aAPA91b-_", " fGx:APA91b-_ ", "<fGx:APA91b-_>"])
    func `of Google has one spelling, in which letters count`(text: String) {
        #expect(kept(text, .fcm) == "fGx:APA91b-_")
    }

    @Test(arguments: ["fGx%", "fGx%zz", "a%00b", "a%253Ab"])
    func `of Google that cannot be unescaped stays as it is`(text: String) { #expect(kept(text, .fcm) == text) }

    @Test(arguments: [Provider.acrobits, .webhook, .harmonyos])
    func `that only its service can read loses nothing but blanks`(provider: Provider) {
        #expect(kept(" aB%2f+/= ", provider) == "aB%2f+/=")
    }

    @Test(arguments: Provider.allCases)
    func `is in its spelling once it has been put there`(provider: Provider) {
        for text in ["<AB cd>", "< <AB> >", "HTTPS://A.B..:443/%7e", "https://../", "a%3Ab", "a%253Ab", " x "] {
            let once = kept(text, provider)
            #expect(kept(once, provider) == once)
        }
    }
}
