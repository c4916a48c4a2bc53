// SPDX-License-Identifier: MIT

/// Why a push was not even sent.
public enum PushFailure: Error, Equatable, Sendable {
    /// The token holds bytes that cannot stand in a request.
    case unusableToken
    /// No topic, project or package is known, or it holds bytes that cannot stand in a header.
    case unusableApp
    /// Even without its texts the payload is longer than the provider takes.
    case payloadTooLarge
    /// No template for this provider was compiled.
    case noTemplate
    /// The URL is not https, not on the list of hosts, or leads into a private network.
    case forbiddenURL
    /// The provider has no push for such an event.
    case noSuchPush
    /// No webhook is set up for the binding's push service.
    case noWebhook
    /// No service account is set up for the package or project.
    case noAccount
    /// No certificate covers the topic, and no key is set up.
    case noCertificate
    /// The phone's encryption keys are not what RFC 8291 asks for, or encrypting failed.
    case unusableKeys
    /// The token is for calls only, and this is none.
    case voipTokenOnly
    /// The key cannot sign.
    case signingFailed
    /// What it was for is over.
    case callOver

    /// How the push ends.
    public var verdict: Verdict {
        switch self {
        case .unusableToken: Verdict(.rejected, reason: "UnusableToken")
        case .unusableApp: Verdict(.misconfigured, reason: "UnusableApp")
        case .payloadTooLarge: Verdict(.rejected, reason: "PayloadTooLarge")
        case .noTemplate: Verdict(.misconfigured, reason: "NoTemplate")
        case .forbiddenURL: Verdict(.rejected, reason: "ForbiddenURL")
        case .noSuchPush: Verdict(.rejected, reason: "NoSuchPush")
        case .noWebhook: Verdict(.misconfigured, reason: "NoWebhook")
        case .noAccount: Verdict(.misconfigured, reason: "NoServiceAccount")
        case .noCertificate: Verdict(.misconfigured, reason: "NoCertificateForTopic")
        case .unusableKeys: Verdict(.rejected, reason: "UnusableKeys")
        case .voipTokenOnly: Verdict(.rejected, reason: "VoipTokenOnly")
        case .signingFailed: Verdict(.misconfigured, reason: "SigningFailed")
        case .callOver: Verdict(.expired, reason: "CallOver")
        }
    }
}
