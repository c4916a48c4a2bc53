// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeSystem
import PushWakeTransport

/// The directory that the first start fills: certificates, keys, and `simulator.json`, which tells a
/// client where everything is. Later starts use what is there.
struct SimulatorFiles {
    static let team = "DEF123GHIJ"
    static let bundle = "com.example.phone"
    static let project = "pushwake-simulator"
    static let secondProject = "pushwake-simulator-2"
    /// The app that the second account is named for.
    static let secondPackage = "com.example.second"

    let apnsKeyID: String
    let apnsKey: PrivateKey
    let account: AccountFile
    /// In a directory of its own, so that who looks beside the first does not find it.
    let secondAccount: AccountFile
    let vapidKey: PrivateKey
    let others: [PublishedService]
    /// Signs the certificates of senders; its key is kept, so that there may be more of them.
    let pushAuthority: Certificate
    private let store: FileStore
    private let subscription: JSONValue

    /// Reads the directory, and makes what is missing.
    init(directory: String) throws {
        store = try FileStore(making: directory)
        try Self.makeServer(store)
        (apnsKeyID, apnsKey) = try Self.apnsKey(store)
        pushAuthority = try PushCertificates.make(store)
        vapidKey = try Self.key("vapid.pem", store)
        subscription = try Self.subscription(store)
        account = try AccountFile("fcmkey.json", in: store, makingFor: Self.project)
        secondAccount = try AccountFile(
            "fcmkey.\(Self.secondPackage).json", in: FileStore(making: store.path("fcm")),
            makingFor: Self.secondProject)
        others = try PublishedService.all(in: store)
    }

    /// The subscription that `simulator.json` names, with its private half.
    var ownSubscription: OwnSubscription? {
        guard let pem = subscription["private_key"]?.string, let key = try? PrivateKey(pem: Array(pem.utf8)),
            let secret = Base64URL.decode((subscription["auth"]?.string ?? "").utf8)
        else { return nil }
        return OwnSubscription(key: key, secret: secret)
    }

    /// Path of the server's certificate.
    var certificatePath: String { store.path("server.pem") }

    /// Path of the server's key.
    var serverKeyPath: String { store.path("server.key") }

    /// Writes what depends on the port: `token_uri` and `simulator.json`.
    func publish(origin: String, port: UInt16) throws {
        try account.publish(tokenURI: "\(origin)/token")
        try secondAccount.publish(tokenURI: "\(origin)/token")
        let apns = JSONValue.object([
            .init("url", .string(origin)), .init("key", .string(store.path("AuthKey_\(apnsKeyID).p8"))),
            .init("key_id", .string(apnsKeyID)), .init("team_id", .string(Self.team)),
            .init("certificates", .string(store.path(PushCertificates.directory))),
            .init("certified_apps", .array(PushCertificates.apps.map { .string($0) })),
            .init("topic", .string(Self.bundle)), .init("voip_topic", .string(Self.bundle + ".voip")),
        ])
        let fcm = JSONValue.object([
            .init("url", .string(origin)), .init("key", .string(store.path("fcmkey.json"))),
            .init("project", .string(account.project)), .init("token_uri", .string("\(origin)/token")),
            .init("key_dir", .string(store.path("fcm"))), .init("second_key", .string(secondAccount.path)),
            .init("second_project", .string(secondAccount.project)),
            .init("second_package", .string(Self.secondPackage)),
        ])
        let webPush = JSONValue.object([
            .init("url", .string("\(origin)/push/")), .init("vapid_key", .string(store.path("vapid.pem"))),
            .init("vapid_public", .string(Base64URL.encode(vapidKey.publicPoint()))),
            .init("p256dh", subscription["p256dh"] ?? .null), .init("auth", subscription["auth"] ?? .null),
            .init("subscription", .string(store.path("subscription.json"))),
        ])
        let services = others.map { service in
            let members = service.document(origin).map { JSONValue.Member($0.name, .string($0.value)) }
            return JSONValue.Member(service.name.rawValue, .object(members))
        }
        var all: [JSONValue.Member] = [
            .init("url", .string(origin)), .init("port", .integer(Int64(port))),
            .init("ca_file", .string(store.path("ca.pem"))), .init("certificate", .string(store.path("server.pem"))),
            .init("apns_key", .string(store.path("AuthKey_\(apnsKeyID).p8"))), .init("apns_key_id", .string(apnsKeyID)),
            .init("apns_cert", .string(store.path(PushCertificates.directory))),
            .init("apns_team_id", .string(Self.team)), .init("apns_topic", .string(Self.bundle)),
            .init("fcm_key", .string(store.path("fcmkey.json"))), .init("fcm_project", .string(account.project)),
            .init("apns", apns), .init("fcm", fcm), .init("webpush", webPush),
        ]
        all += services + [.init("control", .string("\(origin)/_simulator/"))]
        try store.write("simulator.json", JSONText.bytes(.object(all)) + [0x0A], mode: 0o644)
    }

    // MARK: Making

    private static func makeServer(_ store: FileStore) throws {
        let names = ["ca.pem", "server.pem", "server.key"]
        guard try names.contains(where: { try store.read($0) == nil }) else { return }
        // The authority's key is not kept: nothing else will ever be signed with it.
        let authority = try CertificateAuthority(name: "PushWake simulator CA")
        let server = try authority.issueServer(["localhost", "127.0.0.1", "::1"], days: 3_650)
        try store.write("ca.pem", authority.pem(), mode: 0o644)
        try store.write("server.key", server.keyPEM, mode: 0o600)
        try store.write("server.pem", server.certificatePEM, mode: 0o644)
    }

    private static func key(_ name: String, _ store: FileStore) throws -> PrivateKey {
        if let pem = try store.read(name) { return try PrivateKey(pem: pem) }
        let key = try PrivateKey.makeP256()
        try store.write(name, key.pem(), mode: 0o600)
        return key
    }

    private static func apnsKey(_ store: FileStore) throws -> (String, PrivateKey) {
        let found = try FileContent.names(in: store.directory, ending: ".p8").first { $0.hasPrefix("AuthKey_") }
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ23456789")
        let made = String((0..<10).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
        let name = found ?? "AuthKey_\(made).p8"
        return (String(name.dropFirst("AuthKey_".count).dropLast(".p8".count)), try key(name, store))
    }

    /// The keys of a browser or app, so that bodies which the simulator took can be decrypted.
    private static func subscription(_ store: FileStore) throws -> JSONValue {
        if let bytes = try store.read("subscription.json") { return try JSONParser.parse(bytes) }
        let key = try PrivateKey.makeP256()
        let secret = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let value = JSONValue.object([
            .init("p256dh", .string(Base64URL.encode(key.publicPoint()))),
            .init("auth", .string(Base64URL.encode(secret))),
            .init("private_key", .string(String(decoding: try key.pem(), as: UTF8.self))),
        ])
        try store.write("subscription.json", JSONText.bytes(value) + [0x0A], mode: 0o600)
        return value
    }
}

extension FileStore {
    /// 32 random bytes in base64url, on one line.
    func secret(_ name: String) throws -> [UInt8] {
        if let bytes = try read(name) { return bytes.filter { $0 > 0x20 } }
        let made = Array(Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max) }).utf8)
        try write(name, made + [0x0A], mode: 0o600)
        return made
    }
}
