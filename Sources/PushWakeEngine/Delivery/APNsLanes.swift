// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// The lanes to Apple: one per environment.
struct APNsLanes {
    let production: APNsLane
    let sandbox: APNsLane
    /// Where tokens belong whose phone did not say.
    let standardIsSandbox: Bool

    /// The lane of a binding.
    func lane(for binding: Binding) -> any ProviderLane {
        switch binding.environment {
        case .production: production
        case .sandbox: sandbox
        case .standard: standardIsSandbox ? sandbox : production
        }
    }

    /// Other lanes take their place.
    func retire() {
        production.retire()
        sandbox.retire()
    }

    /// Connects to the environment of ordinary bindings.
    func warmUp() { (standardIsSandbox ? sandbox : production).warmUp() }
}
