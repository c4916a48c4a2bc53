// SPDX-License-Identifier: MIT

/// What the name of a certificate's file says: `PACKAGE.p12`, `pushkit.PACKAGE.p12` as Mizutech has it, or
/// `APPID.prod.pem` as Flexisip has it.
struct APNsCertificateName: Equatable {
    /// Bundle id, perhaps with `.voip`; empty when the name does not tell.
    let app: String
    /// `standard` when the name does not tell.
    let environment: Environment

    init(_ fileName: String) {
        var stem = fileName[...]
        if let dot = stem.lastIndex(of: ".") { stem = stem[..<dot] }
        for prefix in ["pushkitcert.", "pushkitcert", "pushkit."] where stem.hasPrefix(prefix) {
            stem = stem.dropFirst(prefix.count)
            break
        }
        if stem.hasSuffix(".dev") {
            environment = .sandbox
            stem = stem.dropLast(4)
        } else if stem.hasSuffix(".prod") {
            environment = .production
            stem = stem.dropLast(5)
        } else {
            environment = .standard
        }
        // A bundle id has a dot; `pushkit` or `voip_services` names no app.
        app = stem.contains(".") ? String(stem) : ""
    }
}
