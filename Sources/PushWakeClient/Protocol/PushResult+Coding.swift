// SPDX-License-Identifier: MIT

public import PushWakeCore

/// The message `result`.
extension PushResult {
    /// Writes the fields of a `result` message.
    package func encode(into writer: inout MessageWriter) {
        writer.put(.pushID, Int64(bitPattern: id))
        writer.put(.event, Int(event.rawValue))
        writer.put(.outcome, Int(outcome.rawValue))
        writer.put(.httpStatus, httpStatus)
        writer.put(.removed, isBindingRemoved ? 1 : 0)
        writer.put(.microseconds, microseconds)
        writer.put(.aor, aor)
        writer.put(.callID, callID)
        writer.put(.provider, Int(provider.rawValue))
        writer.put(.app, app)
        writer.put(.token, token)
        writer.put(.reason, reason)
    }

    /// Reads a `result` message up to the verbs that may follow in it; what an older engine left out keeps a harmless
    /// value.
    public init(decoding message: MessageReader) {
        self.init(event: .custom, outcome: .unavailable)
        var reader = message
        while let field = reader.next(), field.tag != .verb {
            switch field.tag {
            case .pushID: id = UInt64(bitPattern: reader.number(field))
            case .event: event = PushEvent(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .custom
            case .outcome: outcome = Outcome(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .unavailable
            case .httpStatus: httpStatus = Int(truncatingIfNeeded: reader.number(field))
            case .removed: isBindingRemoved = reader.number(field) != 0
            case .microseconds: microseconds = reader.number(field)
            case .aor: aor = reader.text(field)
            case .callID: callID = reader.text(field)
            case .provider: provider = Provider(rawValue: UInt8(truncatingIfNeeded: reader.number(field))) ?? .webhook
            case .app: app = reader.text(field)
            case .token: token = reader.text(field)
            case .reason: reason = reader.text(field)
            default: break
            }
        }
    }
}
