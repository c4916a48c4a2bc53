// SPDX-License-Identifier: MIT

import Foundation

/// Takes a payload as JSON, and says what the sample reads in it.
let bytes = FileHandle.standardInput.readDataToEndOfFile()
guard let payload = try JSONSerialization.jsonObject(with: bytes) as? [String: Any], let call = PushedCall(payload)
else {
    print("no call")
    exit(1)
}
let shown: [String: Any] = [
    "call-id": call.callID, "uuid": call.uuid.uuidString.lowercased(), "handle": call.number, "name": call.name,
    "video": call.hasVideo, "expires-at": call.expiresAt.timeIntervalSince1970,
]
print(String(decoding: try JSONSerialization.data(withJSONObject: shown), as: UTF8.self))
