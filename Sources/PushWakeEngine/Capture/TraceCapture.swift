// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Puts each step of each call into words for a HEP server, at the end of the turn in which it happened.
final class TraceCapture: TurnEnding {
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
    private let traces: TraceRing
    private let loop: Loop
    private let link: CaptureLink
    private var changed: [TraceID] = []
    private var clock = CaptureClock()

    /// Follows the traces of `traces` from now on.
    init(_ source: Source, of traces: TraceRing, loop: Loop, log: EngineLog) throws(TLSError) {
        self.source = source
        self.traces = traces
        self.loop = loop
        link = try CaptureLink(source.address, caFile: source.caFile, loop: loop)
        link.onTrouble = { log(.warning, "hep_capture: \($0); calls go on, and it is tried again") }
        traces.onStep = { [weak self] in self?.note($0) }
        link.start()
    }

    /// Packets that went out, and packets for which there was no room or no server.
    var counters: (sent: Int64, dropped: Int64) { (link.sent, link.dropped) }

    /// Sends what there is, and follows no more.
    func end() {
        turnEnds()
        traces.onStep = nil
        link.end()
    }

    private func note(_ id: TraceID) {
        if changed.isEmpty { loop.atEndOfTurn(self) }
        if changed.last != id { changed.append(id) }
    }

    func turnEnds() {
        let ids = changed
        changed = []
        let offset = clock.offset(wall: SystemClock.wallMicroseconds(), monotonic: SystemClock.monotonicMicroseconds())
        for id in ids {
            guard let (trace, steps) = traces.takeNewSteps(id) else { continue }
            for step in steps {
                link.send(
                    HEPPacket(
                        time: offset &+ step.time &* 1000 &+ Int64(step.order), agent: source.agent,
                        correlationID: trace.callID, line: step.line(of: trace), json: step.json(of: trace)))
            }
        }
    }
}

extension Queries {
    /// Begins, changes or ends the capture of calls, as the settings have it now.
    func openCapture() {
        let source = TraceCapture.Source(context.settings)
        guard source != capture?.source else { return }
        capture?.end()
        capture = nil
        guard let source else { return }
        do throws(TLSError) {
            capture = try TraceCapture(source, of: context.traces, loop: context.loop, log: context.log)
        } catch {
            context.log(.error, "hep_capture: \(error.message); check ca_file")
        }
    }
}
