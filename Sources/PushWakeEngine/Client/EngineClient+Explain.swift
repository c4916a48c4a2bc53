// SPDX-License-Identifier: MIT

public import PushWakeCore

extension EngineClient {
    /// Asks the engine what `request` would push to the devices of a user, with the engine's own settings and store.
    public func explain(
        aor: String, request: [UInt8], event: PushEvent?, wanted: APNsPushType? = nil
    ) throws(ClientError) -> PushExplanation {
        begin(.query)
        put(.query, Int64(EngineQuery.explain.rawValue))
        put(.argument, aor)
        put(.text, request.span)
        put(.name, event?.name ?? "")
        put(.pushType, wanted?.name ?? "")
        let reply = try call(milliseconds: 5000)
        var json: [UInt8] = []
        var problems: [String] = []
        var reader = reply
        while let field = reader.next() {
            switch field.tag {
            case .text: json = Array(reader.bytes[field.range])
            case .problem: problems.append(reader.text(field))
            default: break
            }
        }
        return PushExplanation(json: json, problems: problems)
    }
}
