// SPDX-License-Identifier: MIT

/// Text from packets and providers, made fit for logs, tables and terminals.
public enum PrintableText {
    /// With `?` in the place of all that a terminal or a reader of lines would obey: C0 and C1 controls, DEL, the line
    /// and paragraph separators, and marks of writing direction (Unicode, "Bidi_Control").
    public static func cleaned(_ text: String) -> String {
        guard mayNeedCleaning(text) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isObeyed($0) ? "?" : $0 }))
    }

    /// A value of a `key=value` log line: cleaned, and quoted where it could pass for two; `-` when it is empty.
    public static func logValue(_ text: String) -> String {
        if text.isEmpty { return "-" }
        let bytes = text.utf8Span.span
        guard bytes.contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "\"") }) else { return text }
        let clean = cleaned(text)
        guard clean.unicodeScalars.contains(where: { $0 == "\"" || $0.properties.isWhitespace }) else { return clean }
        var quoted = "\""
        for scalar in clean.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// Nearly all texts are ASCII without controls: that much is seen without decoding.
    private static func mayNeedCleaning(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 || $0 >= 0x7F }
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0x061C, 0x200E, 0x200F: true
        default: false
        }
    }
}
