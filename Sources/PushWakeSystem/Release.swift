// SPDX-License-Identifier: MIT

internal import CRelease

/// The release that this is.
public enum Release {
    /// A release by its number, such as `0.1.0`, or what came after it, such as `0.1.0+37.gabc1234`
    /// (scripts/make/version.sh).
    public static var version: String { String(cString: crelease_version()) }
}
