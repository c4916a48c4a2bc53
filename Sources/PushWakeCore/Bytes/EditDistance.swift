// SPDX-License-Identifier: MIT

/// How many bytes have to be changed, for the hint after a typing error.
enum EditDistance {
    static func between(_ a: String, _ b: String) -> Int {
        let left = Array(a.utf8.prefix(64))
        let right = Array(b.utf8.prefix(64))
        var row = Array(0...right.count)
        for (i, x) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in right.enumerated() {
                let next = min(row[j] + 1, row[j + 1] + 1, diagonal + (x == y ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
        }
        return row[right.count]
    }
}
