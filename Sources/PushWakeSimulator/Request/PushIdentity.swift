// SPDX-License-Identifier: MIT

/// Two fingerprints of an accepted push: pushes with the same `id` are the same push sent twice;
/// pushes with the same `content` went to the same token with the same body.
struct PushIdentity: Hashable, Sendable {
    /// Of token and push id.
    let id: UInt64
    /// Of token and body.
    let content: UInt64

    /// Takes the parts that make a push what it is; without an id of its own its content is its id.
    init(token: ArraySlice<UInt8>, body: [UInt8], id: ArraySlice<UInt8>? = nil) {
        let tokenHash = Fingerprint.of(token, seed: 0x51_7C_C1_B7_27_22_0A_95)
        content = Fingerprint.of(body[...], seed: tokenHash)
        self.id = id.map { Fingerprint.of($0, seed: tokenHash) } ?? content
    }
}
