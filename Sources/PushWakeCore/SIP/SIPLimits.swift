// SPDX-License-Identifier: MIT

/// How much of a message is looked at. What is longer is a problem, not a reason to allocate.
public enum SIPLimits {
    /// Bytes of one header value that is read for push.
    public static let longestHeader = 8192
    /// Contacts of one REGISTER.
    public static let mostContacts = 32
    /// Problems that are reported of one REGISTER; later ones are dropped.
    public static let mostProblems = 16
    /// Bytes of a push token or subscription URL, escapes resolved.
    public static let longestToken = 4096
    /// Bytes of a bundle id, package or project.
    public static let longestApp = 255
    /// Bytes of one wish of the phone, such as `pn-call-str`.
    public static let longestWish = 512
    /// Bytes of a name that is only kept to be shown or compared: instance, provider, Call-ID, user agent.
    public static let longestName = 512
    /// Headers of one message that the splitter gives out.
    public static let mostHeaders = 512
}
