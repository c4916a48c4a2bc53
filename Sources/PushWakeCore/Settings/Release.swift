// SPDX-License-Identifier: MIT

/// The release these sources are.
public enum Release {
    /// Semantic version.
    public static let version: StaticString = "0.1.0"
}
