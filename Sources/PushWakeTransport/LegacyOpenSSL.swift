// SPDX-License-Identifier: MIT

internal import COpenSSL

/// OpenSSL's old ciphers, in a world of their own: what PKCS#12 files of macOS and old tools are encrypted with.
///
/// The legacy provider is loaded into a separate library context, and only while this object lives: for TLS and
/// everything else in the process it does not exist.
final class LegacyOpenSSL {
    let context: OpaquePointer
    private let providers: [OpaquePointer]

    /// Nil when the provider is not installed.
    init?() {
        guard let context = OSSL_LIB_CTX_new() else { return nil }
        let names = ["default", "legacy"]
        let loaded = names.compactMap { (name: String) in OSSL_PROVIDER_load(context, name) }
        self.context = context
        providers = loaded
        guard loaded.count == 2 else {
            _ = TLSError.drain("")
            return nil
        }
    }

    deinit {
        for provider in providers { OSSL_PROVIDER_unload(provider) }
        OSSL_LIB_CTX_free(context)
    }
}
