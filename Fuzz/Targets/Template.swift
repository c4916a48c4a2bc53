// SPDX-License-Identifier: MIT

import PushWakeCore

/// Compiles any text as a payload template and renders it with any values: JSON, or a refusal.
///
/// Before the first zero byte stands the template; each part after it is the value of one field.
public func fuzzTemplate(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let parts = UnsafeBufferPointer(start: start, count: count).split(
        separator: 0, maxSplits: 8, omittingEmptySubsequences: false)
    func text(_ index: Int) -> String { index < parts.count ? String(decoding: parts[index], as: UTF8.self) : "" }
    guard let source = parts.first, let template = try? PayloadTemplate(json: source) else { return 0 }
    var binding = Binding(
        aor: text(1), provider: count % 2 == 0 ? .apns : .fcm, app: "com.example.phone", token: "00fc",
        dialect: .rfc8599)
    binding.instance = text(2)
    let content = PushContent(
        event: PushEvent(rawValue: UInt8(truncatingIfNeeded: count % 8)) ?? .call, callID: text(3), fromURI: text(4),
        fromDisplay: text(5), toURI: text(6), text: text(7), title: text(8), timeToLive: 30,
        sentAt: 1_700_000_000)
    let values = PayloadValues(binding: binding, content: content, now: 1_700_000_001)
    var out: [UInt8] = []
    template.render(values, into: &out)
    guard Jansson.isObject(out) else { fatalError("no JSON: \(String(decoding: out, as: UTF8.self))") }
    var short: [UInt8] = []
    guard template.render(values, limit: 300, into: &short) else { return 0 }
    guard short.count <= 300, Jansson.isObject(short) else {
        fatalError("no JSON within the limit: \(String(decoding: short, as: UTF8.self))")
    }
    return 0
}
