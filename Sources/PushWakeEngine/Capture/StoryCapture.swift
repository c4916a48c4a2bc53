// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Puts each step of each call into words for a HEP server, at the end of the turn in which it happened.
final class StoryCapture: TurnEnding {
    /// What the settings say of it.
    struct Source: Equatable {
        let address: CaptureAddress
        let agent: UInt32
        let caFile: String

        /// Nil where nothing is captured.
        init?(_ settings: Settings) {
            guard let address = try? CaptureAddress(settings.text(.hepCapture)) else { return nil }
            self.address = address
            agent = UInt32(clamping: settings.integer(.hepID))
            caFile = settings.text(.caFile)
        }
    }

    let source: Source
    private let trace: Trace
    private let loop: Loop
    private let link: CaptureLink
    private var changed: [TraceID] = []

    /// Follows the stories of `trace` from now on.
    init(_ source: Source, of trace: Trace, loop: Loop, log: EngineLog) throws(TLSError) {
        self.source = source
        self.trace = trace
        self.loop = loop
        link = try CaptureLink(source.address, caFile: source.caFile, loop: loop)
        link.onTrouble = { log(.warning, "hep_capture: \($0); calls go on, and it is tried again") }
        trace.onStep = { [weak self] in self?.note($0) }
        link.start()
    }

    /// Packets that went out, and packets for which there was no room or no server.
    var counters: (sent: Int64, dropped: Int64) { (link.sent, link.dropped) }

    /// Sends what there is, and follows no more.
    func end() {
        turnEnds()
        trace.onStep = nil
        link.end()
    }

    private func note(_ id: TraceID) {
        if changed.isEmpty { loop.atEndOfTurn(self) }
        if changed.last != id { changed.append(id) }
    }

    func turnEnds() {
        let ids = changed
        changed = []
        let clocks = SystemClock.wallMicroseconds() &- SystemClock.monotonicMilliseconds() &* 1000
        for id in ids {
            guard let (story, steps) = trace.takeNewSteps(id) else { continue }
            for step in steps {
                link.send(
                    HEPPacket(
                        time: clocks &+ step.time &* 1000 &+ Int64(step.order), agent: source.agent,
                        correlationID: story.callID, line: step.line(of: story), json: step.json(of: story)))
            }
        }
    }
}

extension EngineCore {
    /// Begins, changes or ends the capture of calls, as the settings have it now.
    func openCapture() {
        let source = StoryCapture.Source(settings)
        guard source != capture?.source else { return }
        capture?.end()
        capture = nil
        guard let source else { return }
        do throws(TLSError) {
            capture = try StoryCapture(source, of: trace, loop: delivery.loop, log: log)
        } catch {
            log(.error, "hep_capture: \(error.message); check ca_file")
        }
    }
}
