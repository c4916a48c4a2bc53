// SPDX-License-Identifier: MIT

import Foundation

public struct PKPushType: Hashable {
    public static let voIP = PKPushType()
}

public class PKPushCredentials {
    public let token = Data()
}

public class PKPushPayload {
    public let dictionaryPayload: [AnyHashable: Any] = [:]
}

public protocol PKPushRegistryDelegate: AnyObject {
    func pushRegistry(_ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType)
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping () -> Void)
}

public class PKPushRegistry {
    public weak var delegate: (any PKPushRegistryDelegate)?
    public var desiredPushTypes: Set<PKPushType>?
    public init(queue: DispatchQueue?) {}
    public func pushToken(for type: PKPushType) -> Data? { nil }
}
