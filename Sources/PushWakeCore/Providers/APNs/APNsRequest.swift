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

    /// The kind of push that somebody asked for by hand, or the usual one when nobody did; nil when this token must
    /// not get it. A PushKit token gets nothing but calls, and only as `voip`; no other token gets `voip`.
    public static func pushType(
        of event: PushEvent, for service: Service?, wanted: APNsPushType?
    ) -> APNsPushType? {
        guard let wanted else { return pushType(of: event, for: service) }
        switch (wanted, service) {
        case (.voip, .remote), (.alert, .voip), (.background, .voip): return nil
        case (.voip, _): return event == .call ? .voip : nil
        case (.alert, _), (.background, _): return wanted
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
