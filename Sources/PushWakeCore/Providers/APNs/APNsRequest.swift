// SPDX-License-Identifier: MIT

/// Builds the HTTP request of one push through Apple (Apple, "Sending notification requests to APNs").
public enum APNsRequest {
    /// The kind of push that an event is for a token; nil when this token must not get it.
    ///
    /// Only a call may be `voip`: iOS kills an app that gets a voip push and reports no call. A token whose
    /// kind the phone did not name counts as voip for a call and as remote for anything else (Mizutech).
    public static func pushType(of event: PushEvent, for service: Service?) -> APNsPushType? {
        switch (event, service) {
        case (.call, .voip), (.call, nil): .voip
        case (.call, .remote): .alert
        case (_, .voip): nil
        case (.refresh, _): .background
        default: .alert
        }
    }

    /// Builds the request; `authorization` is the whole value (`bearer …`), empty with a client certificate.
    ///
    /// For one push. Who sends many uses `APNsRequestBuilder`, which keeps what they have in common.
    public static func build(
        _ binding: Binding, _ content: PushContent, _ type: APNsPushType, payloads: PayloadLibrary,
        settings: APNsSettings, authorization: [UInt8], authority: String, id: PushID, now: Int64
    ) throws(PushRefusal) -> HTTPRequest {
        var builder = APNsRequestBuilder(payloads: payloads, settings: settings, authority: authority)
        builder.authorization = authorization
        return try builder.build(binding, content, type, id: id, now: now)
    }
}
