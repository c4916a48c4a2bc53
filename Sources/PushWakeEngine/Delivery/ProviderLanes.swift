// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// Which lane a push takes.
struct ProviderLanes {
    private var apns: APNsLanes?
    private var fcm: (any ProviderLane)?
    private var webPush: WebPushLanes?
    private var acrobits: (any ProviderLane)?

    /// No lane at all.
    init() {}

    /// Reads the keys that the settings name; a lane whose key cannot be used is missing, and `problems` says why.
    init(_ settings: Settings, loop: Loop, log: EngineLog, problems: inout [String]) {
        let (payloads, templateProblems) = PayloadFiles.load(settings)
        problems += templateProblems
        guard let payloads else { return }
        do throws(TLSError) {
            let builder = LaneBuilder(
                settings: settings, tls: try LaneBuilder.tls(settings), payloads: payloads,
                resolver: Resolver(loop: loop),
                loop: loop, log: log)
            apns = builder.openAPNs(&problems)
            fcm = builder.openFCM(&problems)
            webPush = builder.openWebPush(&problems)
            acrobits = builder.openAcrobits(&problems)
        } catch {
            problems.append("ca_file: \(error.message); no provider can be verified, so no push is sent")
        }
    }

    /// Gets the lanes that ordinary bindings take ready for the first call.
    func warmUp() {
        apns?.warmUp()
        fcm?.warmUp()
        acrobits?.warmUp()
    }

    /// The lane of a binding; nil when it is not set up.
    func lane(for binding: Binding) -> (any ProviderLane)? {
        switch binding.provider {
        case .apns: apns?.lane(for: binding)
        case .fcm: fcm
        case .webpush: webPush?.lane(for: binding)
        case .acrobits: acrobits
        case .webhook: nil
        }
    }
}
