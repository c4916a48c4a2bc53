// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// The file of a Huawei service account: made once, as their console gives it out.
struct HarmonyOSFile {
    static let project = "388421841222"

    let keyID: String
    let subAccount: String
    let key: PrivateKey
    /// Where it is.
    let path: String

    /// Reads the file, or makes it.
    init(_ name: String, in store: FileStore) throws {
        path = store.path(name)
        var made: JSONValue?
        if try store.read(name) == nil {
            let pem = String(decoding: try PrivateKey.makeRSA().pem(), as: UTF8.self)
            let id = (0..<16).map { _ in "0123456789abcdef".randomElement().map(String.init) ?? "0" }.joined()
            let document = JSONValue.object([
                .init("project_id", .string(Self.project)), .init("key_id", .string(id)),
                .init("private_key", .string(pem)), .init("sub_account", .string("100000000001")),
                .init("token_uri", .string(HarmonyOSService.audience)),
            ])
            try store.write(name, JSONText.bytes(document) + [0x0A], mode: 0o600)
            made = document
        }
        let document = try made ?? JSONParser.parse(try store.read(name) ?? [])
        guard let pem = document["private_key"]?.string, let id = document["key_id"]?.string,
            let account = document["sub_account"]?.string
        else { throw FileStore.Failure(description: "\(store.path(name)) is not a service account") }
        key = try PrivateKey(pem: Array(pem.utf8))
        keyID = id
        subAccount = account
    }
    /// The service that knows this account.
    func published() throws -> PublishedService {
        let verifier = try SignatureVerifier(pss: key)
        let account = HarmonyOSService.Account(project: Self.project, keyID: keyID, subAccount: subAccount) {
            verifier.verify($1, of: $0)
        }
        let path = path
        return PublishedService(.harmonyos, HarmonyOSService(account: account)) {
            [("url", $0), ("key", path), ("project", Self.project)]
        }
    }
}
