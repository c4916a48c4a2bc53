// SPDX-License-Identifier: MIT

internal import PushWakeCore

/// A result for Prometheus: what the node exporter's textfile collector reads.
public enum CanaryReport {
    /// `user` is the label; `wallSeconds` when the call ended, seconds since 1970.
    public static func metrics(_ result: CanaryResult, user: String, wallSeconds: Int64) -> [UInt8] {
        var text = MetricsText()
        let labels: [MetricsText.Label] = [(name: "user", value: user)]
        text.family("pushwake_canary_success", .gauge, "Whether the last call of pushwake canary reached its goal.")
        text.sample("pushwake_canary_success", result.isGood ? 1 : 0, labels)
        text.family("pushwake_canary_last_run_timestamp_seconds", .gauge, "When that call ended.")
        text.sample("pushwake_canary_last_run_timestamp_seconds", wallSeconds, labels)
        text.family("pushwake_canary_status", .gauge, "Last SIP status of that call; 0 when the PBX said nothing.")
        text.sample("pushwake_canary_status", Int64(result.status), labels)
        if let ringing = result.ringing {
            text.family("pushwake_canary_ring_seconds", .gauge, "From its INVITE until the phone rang.")
            text.sample("pushwake_canary_ring_seconds", millionths: ringing &* 1000, labels)
        }
        return text.bytes
    }
}
