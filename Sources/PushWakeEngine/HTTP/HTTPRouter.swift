// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// One request with what is known of its sender.
struct HTTPCall {
    let request: ServedRequest
    let slot: AnswerSlot
    /// Nil where nobody has to say who it is.
    let identity: HTTPAccess.Identity?

    func answer(_ answer: ServedAnswer) { slot.answer(answer) }
}

/// Who may use an endpoint.
enum HTTPAudience: Equatable {
    case everybody
    /// The operator, and users of `http_users` for their own account; what they show may be in the body too.
    case accounts
    case operators
}

/// One thing that can be asked for.
struct HTTPEndpoint {
    let method: String
    let path: String
    let audience: HTTPAudience
    /// It changes something, or takes a place that others want, although its method says that it does not.
    var changes = false
    let run: (HTTPCall) -> Void
}

/// Finds the endpoint of a request.
struct HTTPRouter {
    enum Match {
        case endpoint(HTTPEndpoint)
        /// The path is there, for these methods.
        case otherMethod([String])
        case nothing
    }

    private var byPath: [String: [HTTPEndpoint]] = [:]

    init(_ endpoints: [HTTPEndpoint]) {
        for endpoint in endpoints { byPath[endpoint.path, default: []].append(endpoint) }
    }

    /// HEAD is a GET whose body stays here (RFC 9110, 9.3.2).
    func match(_ request: ServedRequest) -> Match {
        guard let endpoints = byPath[request.path] else { return .nothing }
        let method = request.method == "HEAD" ? "GET" : request.method
        if let endpoint = endpoints.first(where: { $0.method == method }) { return .endpoint(endpoint) }
        return .otherMethod(endpoints.map(\.method))
    }
}
