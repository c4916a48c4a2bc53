// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Where the steps of calls are captured.
    static let hep: [SettingDescription] = [
        .init(
            .hepCapture, "hep_capture", .capture, "", example: "homer.example.com:9060",
            "HEP server (Homer, heplify-server): host:port for UDP, tcp:host:port, or tls:host:port, whose certificate is verified by ca_file or the system's authorities. It gets each step of each call as a log line under the Call-ID (docs/homer.md). Empty: none."
        ),
        .init(
            .hepID, "hep_id", .integer(0...4_294_967_295), "2599", example: "2001",
            "Number of this capture agent in HEP."
        ),
    ]
}
