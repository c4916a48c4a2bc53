// SPDX-License-Identifier: MIT

/// The settings that are numbered, as Mizutech has them: `fcm_app1` and `fcm_key1` to `fcm_app1000` and `fcm_key1000`.
public struct FCMAccountSettings: Equatable, Sendable {
    /// Numbers that may stand behind `fcm_app` and `fcm_key`.
    public static let numbers = 1...1000

    /// One app and the file of its service account; either may be empty.
    public struct Pair: Equatable, Sendable {
        public let number: Int
        /// Package, or project.
        public internal(set) var app = ""
        /// Path of the JSON file.
        public internal(set) var file = ""
    }

    /// The name of one such setting.
    public struct Name: Equatable, Sendable {
        public let number: Int
        /// `fcm_key…`, else `fcm_app…`.
        public let isKey: Bool

        /// Whether a name is one of these with some number behind it, good or not.
        static func isNumbered(_ name: String) -> Bool {
            guard name.hasPrefix("fcm_key") || name.hasPrefix("fcm_app") else { return false }
            let digits = name.utf8.dropFirst("fcm_app".utf8.count)
            return !digits.isEmpty && digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        }

        /// Recognises a name; nil for every other setting.
        public init?(_ name: String) {
            isKey = name.hasPrefix("fcm_key")
            guard isKey || name.hasPrefix("fcm_app") else { return nil }
            let digits = name.utf8.dropFirst("fcm_app".utf8.count)
            guard let first = digits.first, first != UInt8(ascii: "0"), digits.count <= 4,
                digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
                let number = Int(String(decoding: digits, as: UTF8.self)), FCMAccountSettings.numbers.contains(number)
            else { return nil }
            self.number = number
        }
    }

    /// By number; pairs of which nothing is set are left out.
    public private(set) var pairs: [Pair] = []

    /// The value under a name; empty when it is not set.
    subscript(name: Name) -> String {
        get {
            guard let pair = pairs.first(where: { $0.number == name.number }) else { return "" }
            return name.isKey ? pair.file : pair.app
        }
        set {
            var pair = pairs.first { $0.number == name.number } ?? Pair(number: name.number)
            if name.isKey { pair.file = newValue } else { pair.app = newValue }
            pairs.removeAll { $0.number == name.number }
            guard !pair.app.isEmpty || !pair.file.isEmpty else { return }
            let index = pairs.firstIndex { $0.number > name.number } ?? pairs.count
            pairs.insert(pair, at: index)
        }
    }

    /// `name=value` lines of all that is set.
    func lines() -> String {
        pairs.map { pair in
            (pair.app.isEmpty ? "" : "fcm_app\(pair.number)=\(pair.app)\n")
                + (pair.file.isEmpty ? "" : "fcm_key\(pair.number)=\(pair.file)\n")
        }.joined()
    }
}
