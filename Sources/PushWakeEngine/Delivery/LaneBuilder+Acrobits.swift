// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

extension LaneBuilder {
    /// Nil when it is not set up, or when its URL cannot be used: then `problems` says so.
    func openAcrobits(replacing old: AcrobitsLane?, _ problems: inout [String]) -> AcrobitsLane? {
        guard settings.flag(.acrobits) else { return nil }
        let lane = acrobits()
        old?.retire()
        if lane == nil { problems.append("acrobits_url: is no https URL; no push goes through Acrobits") }
        return lane
    }

    func acrobits() -> AcrobitsLane? {
        let url = settings.text(.acrobitsURL)
        guard let origin = HTTPOrigin.split(url)?.0,
            let builder = AcrobitsRequest(settings: AcrobitsSettings(url: url, payload: PayloadSettings(settings)))
        else { return nil }
        return AcrobitsLane(
            pool: pool(origin, "acrobits", connections: 2), builder: builder, maxFail: Int(settings.integer(.maxFail)),
            loop: loop)
    }
}
