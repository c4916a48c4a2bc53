// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one push through Google (FCM HTTP v1).
public enum FCMRequest {
    /// Longest payload in bytes.
    public static let payloadLimit = 4096
    /// Four weeks, in seconds.
    public static let longestTimeToLive: UInt32 = 2_419_200

    /// Builds the request; `authorization` is the whole value (`Bearer …`).
    ///
    /// For one push. Who sends many uses `FCMRequestBuilder`, which keeps what they have in common.
    public static func build(
        _ binding: Binding, _ content: PushContent, payloads: PayloadLibrary, settings: FCMSettings,
        authorization: [UInt8], authority: String, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        var builder = FCMRequestBuilder(payloads: payloads, settings: settings, authority: authority)
        builder.authorization = authorization
        return try builder.build(binding, content, now: now)
    }
}
