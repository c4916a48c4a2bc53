// SPDX-License-Identifier: MIT

import PushWakeCore
import PushWakeTransport

/// A service that answers by the request alone: it knows neither the connection nor an access token, and no rule of a
/// script changes what it checks.
protocol SimulatedService {
    /// Checks one request; `now` in milliseconds since the epoch.
    mutating func answer(_ request: ReceivedRequest, now: Int64) -> ProviderAnswer

    /// Whose push it is, for rules that name a token.
    func token(of request: ReceivedRequest) -> ArraySlice<UInt8>

    /// By what a request that comes again is known; nil: by its body.
    func pushID(of request: ReceivedRequest) -> ArraySlice<UInt8>?

    /// A success, even where the service would refuse.
    func success() -> ProviderAnswer

    /// What a script wants, in the vendor's form.
    func scripted(status: Int, reason: String?) -> ProviderAnswer
}

extension SimulatedService {
    func pushID(of request: ReceivedRequest) -> ArraySlice<UInt8>? { nil }

    func success() -> ProviderAnswer { ProviderAnswer(status: 200) }

    /// A text of the body, if that is JSON.
    static func text(in request: ReceivedRequest, _ find: (JSONValue) -> String?) -> ArraySlice<UInt8> {
        Array(((try? JSONParser.parse(request.body)).flatMap(find) ?? "").utf8)[...]
    }
}

/// Who answers a request; the raw value is the word in logs, scripts and counters.
enum ProviderName: String, CaseIterable, Sendable {
    case apns, fcm, oauth, webpush, acrobits, webhook, flexiapi, harmonyos
    /// The simulator's own endpoint.
    case control

    /// Its requests are pushes.
    var isPush: Bool { self != .oauth && self != .control }

    /// How its paths begin; what is whole has no more behind it.
    private var path: (prefix: StaticString, isWhole: Bool) {
        switch self {
        case .apns: ("/3/", false)
        case .fcm: ("/v1/", false)
        case .oauth: ("/token", true)
        case .webpush: ("/push/", false)
        case .acrobits: ("/pnm2", false)
        case .webhook: ("/webhook", false)
        case .flexiapi: ("/flexiapi/", false)
        case .harmonyos: ("/v3/", false)
        case .control: ("/_simulator/", false)
        }
    }

    /// Chooses by path alone, so that one address serves all.
    init?(path: ArraySlice<UInt8>) {
        let known = Self.allCases.first { name in
            let (prefix, isWhole) = name.path
            return Self.starts(path, prefix) && (!isWhole || path.count == prefix.utf8CodeUnitCount)
        }
        guard let name = known ?? (path.elementsEqual("/3".utf8) ? .apns : nil) else { return nil }
        self = name
    }

    private static func starts(_ path: ArraySlice<UInt8>, _ prefix: StaticString) -> Bool {
        guard path.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where path[path.startIndex + index] != prefix.utf8Start[index] {
            return false
        }
        return true
    }
}

/// A service with its keys, and what `simulator.json` says of it.
struct PublishedService {
    let name: ProviderName
    let service: any SimulatedService
    /// `origin` is where the simulator listens.
    let document: (_ origin: String) -> [(name: String, value: String)]

    init(
        _ name: ProviderName, _ service: any SimulatedService,
        document: @escaping (_ origin: String) -> [(name: String, value: String)]
    ) {
        (self.name, self.service, self.document) = (name, service, document)
    }

    /// All of them, with keys that are made where they are missing.
    static func all(in store: FileStore) throws -> [PublishedService] {
        let (secret, key) = (try store.secret("webhook.secret"), try store.secret("flexiapi.key"))
        return [
            PublishedService(.acrobits, AcrobitsService()) { [("url", "\($0)/pnm2/send")] },
            PublishedService(.webhook, WebhookService { Crypto.hmacSHA256(key: secret, $0) }) {
                [("url", "\($0)/webhook/$token"), ("secret", store.path("webhook.secret"))]
            },
            PublishedService(.flexiapi, FlexiAPIService(key: key)) {
                [("url", "\($0)/flexiapi"), ("key", store.path("flexiapi.key"))]
            },
            try HarmonyOSFile("harmonyos.json", in: store).published(),
        ]
    }
}
