// SPDX-License-Identifier: MIT

import COpenSSL
import Glibc
import PushWakeCore
import Testing

@testable import PushWakeSystem
@testable import PushWakeTransport

/// Certificates with keys in all the forms that people have them in; the files are made by the openssl command,
/// which is not ours.
@Suite(.serialized) struct `Certificate files` {
    private let directory: String
    private let authority: CertificateAuthority
    private let issued: CertificateAuthority.IssuedIdentity

    init() throws {
        var template = Array("/tmp/pushwake-identity-XXXXXX".utf8CString)
        directory = try #require(mkdtemp(&template).map { String(cString: $0) })
        authority = try CertificateAuthority(name: "Worldwide Developer Relations")
        issued = try authority.issueClient("VoIP Services: com.example.phone", userID: "com.example.phone.voip")
        try write("cert.pem", issued.certificatePEM)
        try write("key.pem", issued.keyPEM)
        try write("ca.pem", authority.pem())
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = try #require(fopen("\(directory)/\(name)", "w"))
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    /// Runs `openssl` in the directory and returns the file that it wrote.
    private func made(_ name: String, by command: String) throws -> [UInt8] {
        #expect(system("cd \(directory) && openssl \(command) >/dev/null 2>&1") == 0, "openssl \(command)")
        return try FileContent.read("\(directory)/\(name)")
    }

    private func end() { _ = system("rm -rf \(directory)") }

    private func refusal(_ bytes: [UInt8], key: [UInt8]? = nil, password: String = "") -> IdentityError? {
        do throws(IdentityError) {
            _ = try TLSIdentity.read(bytes, keyFile: key, password: password)
            return nil
        } catch {
            return error
        }
    }

    private static let export = "pkcs12 -export -in cert.pem -inkey key.pem -out a.p12"

    @Test(arguments: [
        ("", "secret"), ("", ""), ("-certfile ca.pem", "secret"),
        // What macOS Keychain exports.
        ("-legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES -macalg sha1", "secret"),
        ("-legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES -macalg sha1", ""),
        ("-certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1", "secret"),
    ])
    func `PKCS 12, new and old, opens with its password`(options: String, password: String) throws {
        defer { end() }
        let bytes = try made("a.p12", by: "\(Self.export) \(options) -passout 'pass:\(password)'")
        let identity = try TLSIdentity.read(bytes, password: password)
        #expect(identity.isSame(as: issued.identity))
        #expect(identity.leaf.subject("UID") == "com.example.phone.voip")
        // A root is not sent.
        #expect(identity.chain.isEmpty)
        #expect(refusal(bytes, password: "wrong") == .wrongPassword)
        #expect(refusal(Array(bytes.prefix(bytes.count / 2)), password: password) != nil)
    }

    /// One wrong password in 256 decrypts the file to garbage whose padding is right.
    @Test(arguments: ["", "-certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES"])
    func `a wrong password of a PKCS 12 without a MAC is named, whatever it makes of the file`(options: String) throws {
        defer { end() }
        let bytes = try made("a.p12", by: "\(Self.export) -nomac -noiter \(options) -passout pass:secret")
        let refusals = (0..<1500).map { refusal(bytes, password: "wrong \($0)") }
        #expect(refusals.allSatisfy { $0 == .wrongPassword })
    }

    @Test func `PKCS 12 without a certificate or a key says so`() throws {
        defer { end() }
        let keyless = try made("a.p12", by: "pkcs12 -export -nokeys -in cert.pem -out a.p12 -passout pass:")
        #expect(refusal(keyless) == .noKey)
        let bare = try made(
            "b.p12", by: "pkcs12 -export -nocerts -inkey key.pem -in key.pem -out b.p12 -passout pass:")
        #expect(refusal(bare) == .noCertificate)
    }

    @Test func `PEM may have key, certificate and chain in any order`() throws {
        defer { end() }
        let intermediate = try authority.issueAuthority("Intermediate")
        let own = try intermediate.issueClient("Apple Push Services: com.example.phone", userID: "com.example.phone")
        let parts = [own.keyPEM, own.certificatePEM, try intermediate.pem(), try authority.pem()]
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let identity = try TLSIdentity.read(order.flatMap { parts[$0] + [0x0A] }, password: "")
            #expect(identity.isSame(as: own.identity))
            #expect(identity.chain.map { $0.subject("CN") } == ["Intermediate"])
        }
        let exported = try made(
            "all.pem", by: "\(Self.export) -passout pass: && openssl pkcs12 -in a.p12 -passin pass: -nodes -out all.pem"
        )
        #expect(try TLSIdentity.read(exported, password: "").isSame(as: issued.identity))
    }

    @Test(arguments: [
        "pkcs8 -topk8 -v2 aes-256-cbc", "ec -aes128", "pkcs8 -topk8 -v1 PBE-SHA1-3DES",
        // OpenSSL's default of long ago.
        "pkcs8 -topk8 -v1 PBE-MD5-DES -provider legacy -provider default",
    ])
    func `PEM may have an encrypted key`(command: String) throws {
        defer { end() }
        let key = try made("enc.pem", by: "\(command) -in key.pem -passout pass:secret -out enc.pem")
        #expect(try TLSIdentity.read(issued.certificatePEM + key, password: "secret").isSame(as: issued.identity))
        #expect(refusal(issued.certificatePEM + key, password: "wrong") == .wrongPassword)
        #expect(refusal(issued.certificatePEM + key) == .wrongPassword)
    }

    @Test func `a certificate in PEM or DER takes the key beside it in PEM or DER`() throws {
        defer { end() }
        let cert = try made("cert.der", by: "x509 -in cert.pem -outform der -out cert.der")
        let key = try made("key.der", by: "pkcs8 -topk8 -nocrypt -in key.pem -outform der -out key.der")
        for (first, second) in [
            (cert, key), (cert, issued.keyPEM), (issued.certificatePEM, key), (issued.certificatePEM, issued.keyPEM),
        ] {
            #expect(try TLSIdentity.read(first, keyFile: second, password: "").isSame(as: issued.identity))
        }
        #expect(refusal(cert) == .noKey)
        #expect(refusal(issued.certificatePEM) == .noKey)
        let other = try PrivateKey.makeP256()
        #expect(refusal(cert, key: try other.pem()) == .keyDoesNotMatch)
        #expect(refusal(issued.certificatePEM + (try other.pem())) == .keyDoesNotMatch)
        #expect(refusal(issued.keyPEM) == .noCertificate)
    }

    @Test(arguments: [[], [0x30], [0x00], Array("hello".utf8), Array(repeating: 0x30, count: 1000)])
    func `bytes that are none of it are refused`(bytes: [UInt8]) {
        defer { end() }
        guard case .unreadable = refusal(bytes) else {
            Issue.record("\(String(describing: refusal(bytes)))")
            return
        }
    }

    @Test func `reading an old file leaves old ciphers out of the process`() throws {
        defer { end() }
        let options = "-legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES -passout pass:"
        let bytes = try made("a.p12", by: "\(Self.export) \(options)")
        for _ in 0..<20 { _ = try TLSIdentity.read(bytes, password: "") }
        // The key and the certificate work in TLS afterwards, with everybody else's ciphers.
        let bench = try Workbench().serve()
        let pool = try bench.makePool(identity: try TLSIdentity.read(bytes, password: ""))
        #expect(bench.send(pool)?.response?.status == 200)
    }
}

extension CertificateAuthority {
    /// Issues an authority below this one.
    fileprivate func issueAuthority(_ name: String) throws -> CertificateAuthority {
        let below = try PrivateKey.makeP256()
        let made = try Self.make(
            subject: name, key: below, issuer: certificate, issuerKey: key, days: 3650,
            extensions: [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")])
        return CertificateAuthority(made, below)
    }
}
