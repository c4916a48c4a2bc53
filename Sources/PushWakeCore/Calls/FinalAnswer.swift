// SPDX-License-Identifier: MIT

/// What hosts ask about final answers to a request.
public enum FinalAnswer {
    /// Which of two statuses goes to the caller (RFC 3261, 16.7, 6): a 6xx speaks for the user, otherwise the lowest class
    /// counts. Of one class that which says how to try again is best, and what a timer or an overload made is worst; of equal
    /// ones the first. A status below 300 is none.
    public static func better(_ first: Int, _ second: Int) -> Int { rank(second) < rank(first) ? second : first }

    private static func rank(_ status: Int) -> Int {
        switch status {
        case ..<300: .max
        case 600...: 0
        case 401, 407, 415, 420, 484: 40
        case 408: 42
        case 503: 52
        default: status / 100 * 10 + 1
        }
    }

    /// Whether a proxy or a node before a phone may say this of its way to the phone, which has heard nothing then: timeout, no
    /// flow (RFC 5626, 5.3.1), no connection (Kamailio's 477 and 478), no room, or that it is out of order.
    public static func isAboutTheWay(_ status: Int) -> Bool { [408, 430, 477, 478, 479, 500, 503].contains(status) }
}
