// SPDX-License-Identifier: MIT

import AVFAudio
import CallKit
import Foundation
import PushKit

/// What this file needs of the SIP stack.
protocol SIPStack: AnyObject {
    /// Sends a REGISTER with these parameters in the Contact URI, over a new connection.
    func register(contactParameters: String)
    func answer(_ call: UUID)
    func hangUp(_ call: UUID)
    func startAudio()
    func stopAudio()
}

/// PushKit and CallKit. Make it while the app launches, before anything else: a push may have started the app.
final class CallController: NSObject, PKPushRegistryDelegate, CXProviderDelegate {
    private let stack: any SIPStack
    private let provider: CXProvider
    private let registry = PKPushRegistry(queue: .main)
    private let app: String
    /// Reported, and without an INVITE so far; what the user has answered or declined meanwhile.
    private var awaited: [UUID: Timer] = [:]
    private var answered: [UUID: CXAnswerCallAction] = [:]
    private var declined: Set<UUID> = []
    private var known: Set<UUID> = []

    /// `app` is TEAM.BUNDLE.
    init(stack: any SIPStack, app: String) {
        self.stack = stack
        self.app = app
        let configuration = CXProviderConfiguration()
        configuration.supportsVideo = true
        configuration.supportedHandleTypes = [.phoneNumber, .generic]
        provider = CXProvider(configuration: configuration)
        super.init()
        provider.setDelegate(self, queue: .main)
        registry.delegate = self
        registry.desiredPushTypes = [.voIP]
    }

    // MARK: PushKit

    func pushRegistry(_ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType) {
        register(credentials.token.map { String(format: "%02x", $0) }.joined())
    }

    /// Call it at logout as well: an app that is logged out must not ring.
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) { register("null") }

    private func register(_ token: String) {
        #if DEBUG
        let service = "apns.dev"
        #else
        let service = "apns"
        #endif
        stack.register(contactParameters: "pn-provider=\(service);pn-param=\(app).voip;pn-prid=\(token)")
    }

    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping () -> Void
    ) {
        // Each push is reported before this returns, a senseless one too: iOS ends the app otherwise.
        let call = PushedCall(payload.dictionaryPayload)
        let uuid = call?.uuid ?? UUID()
        report(uuid, number: call?.number ?? "", name: call?.name ?? "", hasVideo: call?.hasVideo ?? false) {
            completion()
        }
        let left = call?.expiresAt.timeIntervalSinceNow ?? 0
        guard left > 0 else { return end(uuid, .failed) }
        if let timer = awaited[uuid] { timer.invalidate() }
        awaited[uuid] = Timer.scheduledTimer(withTimeInterval: left, repeats: false) { [weak self] _ in
            self?.end(uuid, .unanswered)
        }
        let token = registry.pushToken(for: .voIP) ?? Data()
        register(token.map { String(format: "%02x", $0) }.joined())
    }

    private func report(
        _ uuid: UUID, number: String, name: String, hasVideo: Bool, then: @escaping () -> Void = {}
    ) {
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: .phoneNumber, value: number)
        update.localizedCallerName = name.isEmpty ? nil : name
        update.hasVideo = hasVideo
        if known.insert(uuid).inserted {
            provider.reportNewIncomingCall(with: uuid, update: update) { _ in then() }
        } else {
            provider.reportCall(with: uuid, updated: update)
            then()
        }
    }

    // MARK: The SIP stack says

    /// An INVITE came; `callID` is its Call-ID, or the X-Push-ID that it has. Returns what to call it from now on.
    func invited(callID: String, number: String, name: String, hasVideo: Bool) -> UUID {
        let uuid = PushedCall.uuid(ofCall: callID)
        awaited.removeValue(forKey: uuid)?.invalidate()
        if declined.remove(uuid) != nil {
            stack.hangUp(uuid)
            return uuid
        }
        report(uuid, number: number, name: name, hasVideo: hasVideo)
        if let action = answered.removeValue(forKey: uuid) {
            stack.answer(uuid)
            action.fulfill()
        }
        return uuid
    }

    /// CANCEL, BYE, an error, or a push that says so (`cancel`, `elsewhere`).
    func end(_ uuid: UUID, _ reason: CXCallEndedReason) {
        awaited.removeValue(forKey: uuid)?.invalidate()
        answered.removeValue(forKey: uuid)?.fail()
        known.remove(uuid)
        provider.reportCall(with: uuid, endedAt: nil, reason: reason)
    }

    // MARK: CallKit

    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
        guard awaited[action.callUUID] == nil else {
            // The INVITE is not here yet: the user has answered, and waits with us.
            answered[action.callUUID] = action
            return
        }
        stack.answer(action.callUUID)
        action.fulfill()
    }

    func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
        if let timer = awaited.removeValue(forKey: action.callUUID) {
            timer.invalidate()
            declined.insert(action.callUUID)
        } else {
            stack.hangUp(action.callUUID)
        }
        known.remove(action.callUUID)
        action.fulfill()
    }

    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { stack.startAudio() }
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) { stack.stopAudio() }
    func providerDidReset(_ provider: CXProvider) { known.removeAll() }
}
