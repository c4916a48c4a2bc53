// SPDX-License-Identifier: MIT

/// What Acrobits calls `AppId`, `DeviceToken` and `Selector`, in a Contact: `pn-provider=acrobits` with the
/// three as `pn-param`, `pn-prid` and `pn-selector`. The form is ours; their apps report the tuple over HTTP.
enum AcrobitsTuple {
    /// The binding of a Contact whose provider is `acrobits`.
    static func read(
        _ parameters: PushParameters, token: String, attributes: Binding.Attributes
    ) throws(Problem) -> Binding {
        try binding(
            appID: parameters.required(.param, for: "acrobits"), deviceToken: token,
            selector: parameters[.selector] ?? "", attributes: attributes)
    }

    /// The binding of a reported tuple; the selector may be empty.
    static func binding(
        appID: String, deviceToken: String, selector: String, attributes: Binding.Attributes = .init()
    ) throws(Problem) -> Binding {
        try TokenRules.check(app: appID, from: "pn-param")
        var attributes = attributes
        attributes[.selector] = selector.isEmpty ? nil : selector
        return try TokenRules.checked(
            Binding(
                provider: .acrobits, app: appID, token: deviceToken, dialect: .acrobitsTuple, attributes: attributes),
            from: "pn-prid")
    }
}
