// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// Push certificates as Apple would give them, in the three forms that people have: a directory that can serve
/// as `apns_cert` as it is.
///
///     apns/pushkit.com.example.phone.p12, .pwd    for alerts and calls
///     apns/com.example.tablet.pem                 for calls only
///     apns/com.example.desk.cer, .key             for alerts and calls, sandbox only
enum PushCertificates {
    static let directory = "apns"
    static let apps = ["com.example.phone", "com.example.tablet", "com.example.desk"]
    /// The p12 opens with it.
    static let password = "pushwake"

    private static let sandbox = "1.2.840.113635.100.6.3.1"
    private static let production = "1.2.840.113635.100.6.3.2"
    /// DER of NULL, the value of Apple's marks.
    private static let null: [UInt8] = [0x05, 0x00]

    /// Makes what is missing, and returns the authority.
    static func make(_ store: FileStore) throws -> Certificate {
        let authority = try authority(store)
        let files = try FileStore(making: store.path(directory))
        try makeOnce("pushkit.com.example.phone.p12", files) {
            let made = try issue("Apple Push Services: com.example.phone", "com.example.phone", authority)
            try files.write("pushkit.com.example.phone.pwd", Array("\(password)\n".utf8), mode: 0o600)
            return try made.identity.pkcs12(password: password, name: "com.example.phone")
        }
        try makeOnce("com.example.tablet.pem", files) {
            let made = try issue("VoIP Services: com.example.tablet", "com.example.tablet.voip", authority)
            return made.certificatePEM + made.keyPEM
        }
        try makeOnce("com.example.desk.cer", files) {
            let made = try issue(
                "Apple Development IOS Push Services: com.example.desk", "com.example.desk", authority)
            try files.write("com.example.desk.key", made.keyPEM, mode: 0o600)
            return try made.identity.leaf.der()
        }
        return authority.certificate
    }

    /// A certificate whose common name says what it is for, as Apple's do; negative `days`: expired.
    static func issue(
        _ commonName: String, _ userID: String, _ authority: CertificateAuthority, days: Int = 365
    ) throws -> CertificateAuthority.IssuedIdentity {
        var marks: [(objectID: String, der: [UInt8])] = []
        if !commonName.hasPrefix("Apple Development") { marks.append((production, null)) }
        if !commonName.contains(" Production ") { marks.append((sandbox, null)) }
        if !commonName.hasPrefix("VoIP Services") {
            let list = TopicExtension.bytes([(userID, "app"), ("\(userID).voip", "voip")])
            marks.append(("1.2.840.113635.100.6.3.6", list))
        }
        return try authority.issueClient(commonName, userID: userID, marks: marks, days: days)
    }

    private static func authority(_ store: FileStore) throws -> CertificateAuthority {
        if let pem = try store.read("apns-ca.pem"), let key = try store.read("apns-ca.key") {
            return try CertificateAuthority(certificatePEM: pem, keyPEM: key)
        }
        let made = try CertificateAuthority(name: "PushWake simulator push CA")
        try store.write("apns-ca.key", made.keyPEM(), mode: 0o600)
        try store.write("apns-ca.pem", made.pem(), mode: 0o644)
        return made
    }

    private static func makeOnce(_ name: String, _ files: FileStore, _ make: () throws -> [UInt8]) throws {
        guard try files.read(name) == nil else { return }
        try files.write(name, make(), mode: 0o600)
    }
}
