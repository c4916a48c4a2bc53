// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one push through Google (FCM HTTP v1).
public enum FCMRequest {
    /// Longest payload in bytes.
    public static let payloadLimit = 4096
    /// Four weeks, in seconds.
    public static let longestTimeToLive: UInt32 = 2_419_200
    private static let longestToken = 2048

    /// Builds the request; `authorization` is the whole value (`Bearer …`).
    public static func build(
        _ binding: Binding, _ content: PushContent, payloads: PayloadLibrary, settings: FCMSettings,
        authorization: [UInt8], authority: String, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        guard !binding.token.isEmpty, binding.token.utf8.count <= longestToken else { throw .unusableToken }
        guard HeaderText.isPathSegment(settings.project, atMost: 255) else { throw .unusableApp }
        let platform = FCMPlatform(of: binding)
        guard let template = payloads.fcm(app: binding.app, content.event, platform) else { throw .noTemplate }

        var request = HTTPRequest(reservingBytes: 640 + authorization.count, fields: 6)
        request.append(":method", "POST")
        request.append(":scheme", "https")
        request.append(":authority", authority)
        request.append(":path") { out in
            out.append(contentsOf: "/v1/projects/".utf8)
            out.append(contentsOf: settings.project.utf8)
            out.append(contentsOf: "/messages:send".utf8)
        }
        request.append("authorization") { $0.append(contentsOf: authorization) }
        request.append("content-type", "application/json")

        let values = PayloadValues(
            binding: binding, content: content, settings: settings.payload,
            pushType: content.event == .call ? "voip" : "alert",
            timeToLive: min(content.timeToLive, longestTimeToLive), now: now)
        request.body.reserveCapacity(768)
        guard template.render(values, limit: payloadLimit, into: &request.body) else { throw .payloadTooLarge }
        return request
    }
}
