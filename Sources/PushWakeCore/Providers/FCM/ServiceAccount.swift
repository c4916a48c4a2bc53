// SPDX-License-Identifier: MIT

/// Google's service-account key file, as far as sending needs it.
public struct ServiceAccount: Equatable, Sendable {
    /// What is wrong with a key file.
    public enum Problem: Error, Equatable, Sendable {
        case notAServiceAccount
        /// This member is missing or empty.
        case missing(String)
        /// `token_uri` is no https URL.
        case badTokenURI
    }

    /// Id of the project that it pushes for (`project_id`).
    public let project: String
    /// Issuer of the assertions that it signs (`client_email`).
    public let email: String
    /// Names the key in their header (`private_key_id`).
    public let keyID: String
    /// PEM text of the RSA key.
    public let privateKey: String
    /// Where they are given for an access token, and their audience; https.
    public let tokenURI: String

    /// Reads the parsed file.
    public init(_ file: JSONValue) throws(Problem) {
        guard file["type"]?.string == "service_account" else { throw .notAServiceAccount }
        project = try Self.text(file, "project_id")
        email = try Self.text(file, "client_email")
        keyID = try Self.text(file, "private_key_id")
        privateKey = try Self.text(file, "private_key")
        tokenURI = try Self.text(file, "token_uri")
        guard HTTPOrigin.split(tokenURI) != nil else { throw .badTokenURI }
    }

    private static func text(_ file: JSONValue, _ name: String) throws(Problem) -> String {
        guard let text = file[name]?.string, !text.isEmpty else { throw .missing(name) }
        return text
    }
}
