// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeStore

/// What a phone of this kind registers.
enum SampleKind: String, CaseIterable {
    /// 64 hex digits, voip.
    case apns
    /// 163 characters, 141 of them after the colon.
    case fcm
}

/// Bindings as phones send them, the same ones in every run.
struct SampleBindings {
    let kind: SampleKind
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(kind: SampleKind) { self.kind = kind }

    /// Users come in no order: numbers are scattered over ten million.
    static func aor(of user: Int) -> String { "\(name(of: user))@sip.example.com" }

    private static func name(of user: Int) -> String { "49301\((user * 7_654_321) % 9_999_991 + 10_000_000)" }

    /// A number below `bound`.
    mutating func number(below bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    mutating func make(user: Int) -> Binding {
        let hex = Array("0123456789abcdef")
        let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let instance = "<urn:uuid:\(uuid(hex))>"
        let host = "10.\(number(below: 256)).\(number(below: 256)).\(number(below: 256))"
        let address = "sip:\(Self.name(of: user))@\(host):\(1024 + number(below: 60_000));transport=tls"
        let callID = uuid(hex)
        switch kind {
        case .apns:
            let token = text(hex, 64)
            return makeBinding(
                aor: Self.aor(of: user), app: "com.example.phone", team: "ABCDE12345", token: token,
                instance: instance,
                contact: "\(address);pn-provider=apns;pn-param=ABCDE12345.com.example.phone.voip;pn-prid=\(token)",
                callID: callID, cseq: UInt32(number(below: 60_000)), at: start + Int64(user))
        case .fcm:
            let token = text(base64, 22) + ":APA91b" + text(base64, 134)
            return makeBinding(
                aor: Self.aor(of: user), provider: .fcm, app: "example-phone-1234", team: "", service: nil,
                token: token, instance: instance,
                contact: "\(address);pn-provider=fcm;pn-param=example-phone-1234;pn-prid=\(token)", callID: callID,
                cseq: UInt32(number(below: 60_000)), at: start + Int64(user))
        }
    }

    private mutating func uuid(_ hex: [Character]) -> String {
        [8, 4, 4, 4, 12].map { text(hex, $0) }.joined(separator: "-")
    }

    private mutating func text(_ alphabet: [Character], _ count: Int) -> String {
        String((0..<count).map { _ in alphabet[number(below: alphabet.count)] })
    }
}
