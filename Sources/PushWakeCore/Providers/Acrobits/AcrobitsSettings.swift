// SPDX-License-Identifier: MIT

/// What an operator decides about pushes through Acrobits.
public struct AcrobitsSettings: Equatable, Sendable {
    /// The push service; https.
    public var url: String
    public var payload: PayloadSettings

    public init(
        url: String = "https://pnm.cloudsoftphone.com/pnm2/send", payload: PayloadSettings = PayloadSettings()
    ) {
        self.url = url
        self.payload = payload
    }
}
