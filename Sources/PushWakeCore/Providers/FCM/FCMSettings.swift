// SPDX-License-Identifier: MIT

/// What an operator decides about pushes through Google.
public struct FCMSettings: Equatable, Sendable {
    /// Project of the service account that the pushes go out under.
    public var project: String
    public var payload: PayloadSettings

    public init(project: String, payload: PayloadSettings = PayloadSettings()) {
        self.project = project
        self.payload = payload
    }
}
