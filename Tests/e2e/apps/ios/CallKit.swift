// SPDX-License-Identifier: MIT

import AVFAudio
import Foundation

public class CXHandle {
    public enum HandleType: Int { case generic = 1, phoneNumber, emailAddress }
    public init(type: HandleType, value: String) {}
}

public class CXCallUpdate {
    public var remoteHandle: CXHandle?
    public var localizedCallerName: String?
    public var hasVideo = false
    public init() {}
}

public class CXProviderConfiguration {
    public var supportsVideo = false
    public var supportedHandleTypes: Set<CXHandle.HandleType> = []
    public init() {}
}

public enum CXCallEndedReason: Int { case failed = 1, remoteEnded, unanswered, answeredElsewhere, declinedElsewhere }

public class CXCallAction {
    public let callUUID = UUID()
    public func fulfill() {}
    public func fail() {}
}

public class CXAnswerCallAction: CXCallAction {}
public class CXEndCallAction: CXCallAction {}

public protocol CXProviderDelegate: AnyObject {
    func providerDidReset(_ provider: CXProvider)
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
    func provider(_ provider: CXProvider, perform action: CXEndCallAction)
    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

public class CXProvider {
    public init(configuration: CXProviderConfiguration) {}
    public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) {}
    public func reportNewIncomingCall(
        with uuid: UUID, update: CXCallUpdate, completion: @escaping ((any Error)?) -> Void
    ) {}
    public func reportCall(with uuid: UUID, updated update: CXCallUpdate) {}
    public func reportCall(with uuid: UUID, endedAt date: Date?, reason: CXCallEndedReason) {}
}
