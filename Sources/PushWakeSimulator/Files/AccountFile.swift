// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A Google service-account file of the simulator's.
struct AccountFile {
    let project: String
    /// `client_email`.
    let email: String
    /// `private_key_id`.
    let keyID: String
    let key: PrivateKey
    private let name: String
    private let store: FileStore
    private let document: JSONValue

    /// Reads the file, or makes it for a project.
    init(_ name: String, in store: FileStore, makingFor project: String) throws {
        self.name = name
        self.store = store
        document = try store.read(name).map { bytes in try JSONParser.parse(bytes) } ?? Self.make(project)
        guard let pem = document["private_key"]?.string, let id = document["private_key_id"]?.string,
            let email = document["client_email"]?.string, let project = document["project_id"]?.string
        else { throw FileStore.Failure(description: "\(store.path(name)) is not a service account") }
        key = try PrivateKey(pem: Array(pem.utf8))
        keyID = id
        self.email = email
        self.project = project
    }

    var path: String { store.path(name) }

    /// Writes the file with the address that the token endpoint has now.
    func publish(tokenURI: String) throws {
        guard document["token_uri"]?.string != tokenURI, case .object(var members) = document else { return }
        members.removeAll { $0.name == "token_uri" }
        members.append(.init("token_uri", .string(tokenURI)))
        try store.write(name, JSONText.bytes(.object(members)) + [0x0A], mode: 0o600)
    }

    private static func make(_ project: String) throws -> JSONValue {
        let id = (0..<20).map { _ in UInt8.random(in: .min ... .max) }
        let hex = id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return .object([
            .init("type", .string("service_account")), .init("project_id", .string(project)),
            .init("private_key_id", .string(hex)),
            .init("private_key", .string(String(decoding: try PrivateKey.makeRSA().pem(), as: UTF8.self))),
            .init("client_email", .string("push@\(project).iam.gserviceaccount.com")),
            .init("client_id", .string("100000000000000000001")),
            .init("universe_domain", .string("googleapis.com")),
        ])
    }
}
