// SPDX-License-Identifier: MIT

import PushWakeClient
import PushWakeCore

@testable import PushWakeClient

/// Reads any lines as one side of an AGI session, of a script or over the network; the first byte picks which, and the
/// engine's answers come in between. No command that goes to Asterisk has a line end in it, and nothing follows the end.
public func fuzzAGI(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let choice = input.first else { return 0 }
    let lines = input.dropFirst().split(separator: 0x0A, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
    }
    let isScript = choice & 1 == 0
    var session = AGISession(
        arguments: isScript ? lines.first.map { $0.split(separator: "\u{1F}").map(String.init) } : nil,
        token: choice & 2 == 0 ? "" : "secret")
    var isOver = false
    func check(_ actions: [AGISession.Action]) {
        guard !isOver || actions.allSatisfy({ $0 == .close }) else { fatalError("after the end: \(actions)") }
        for action in actions {
            switch action {
            case .say(let text):
                guard !text.utf8.contains(0x0A), !text.utf8.contains(0x0D) else { fatalError("two lines: \(text)") }
            case .wake(let message):
                answer(&session, choice, contacts: message.contacts.count, check)
            case .send:
                check(choice & 4 == 0 ? session.sent(Int64(choice)) : session.notSent(because: "\n", isMissing: false))
            case .listBindings: check(session.listed(["apns", "fcm"]))
            case .close: isOver = true
            case .hangUp: break
            }
        }
    }
    for (now, line) in lines.dropFirst(isScript ? 1 : 0).enumerated() where !isOver {
        check(session.line(line, now: Int64(now)))
    }
    check(session.ended())
    guard isOver else { fatalError("no end") }
    return 0
}

private func answer(
    _ session: inout AGISession, _ choice: UInt8, contacts: Int, _ check: ([AGISession.Action]) -> Void
) {
    if choice & 8 != 0 { return check(session.engineLost("it is gone\r\nSET VARIABLE x")) }
    var answer = WakeAnswer(contacts: contacts)
    answer.bindings = Int(choice >> 4)
    answer.pushed = answer.bindings
    check(session.woke(answer))
}
