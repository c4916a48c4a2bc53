// SPDX-License-Identifier: MIT

/// The one place where settings are written down: a file for each heading in Table/.
public enum SettingsTable {
    /// The row of a key. The keys have the order of the rows.
    public static func description(of key: SettingKey) -> SettingDescription { rows[key.rawValue] }

    /// Put together once: a file of many lines asks for them again and again.
    private static let rows = SettingHeading.allCases.flatMap { heading in
        heading.rows.map { row in
            var row = row
            row.heading = heading
            return row
        }
    }
    private static let names = rows.map { Array($0.name.description.utf8) }
    private static let keys = Dictionary(uniqueKeysWithValues: rows.map { ($0.name.description, $0.key) })

    /// The key with this name.
    public static func key(named name: String) -> SettingKey? { keys[name] }

    /// The name that is at most three typing errors away from this one, the nearest; nil when there is none.
    static func name(near wrong: String) -> String? {
        let most = 3
        let wrong = Array(wrong.lowercased().utf8)
        var nearest: (name: [UInt8], distance: Int)?
        for name in names where abs(name.count - wrong.count) <= most {
            let distance = EditDistance.between(name, wrong, limit: most)
            if distance <= most, distance < nearest?.distance ?? .max { nearest = (name, distance) }
        }
        return nearest.map { String(decoding: $0.name, as: UTF8.self) }
    }
}
