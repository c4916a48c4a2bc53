// SPDX-License-Identifier: MIT

import PushWakeCore

/// What the bindings of one app have in common.
struct BindingKind {
    let provider: Provider
    let environment: Environment
    let service: Service?
    let dialect: Dialect
    let app: String
    let team: String

    init(of binding: Binding) {
        provider = binding.provider
        environment = binding.environment
        service = binding.service
        dialect = binding.dialect
        app = binding.app
        team = binding.team
    }

    /// Nil when a number stands for nothing this release knows.
    init?(provider: Int64, environment: Int64, service: Int64, dialect: Int64, app: String, team: String) {
        guard let provider = UInt8(exactly: provider).flatMap(Provider.init(rawValue:)),
            let environment = UInt8(exactly: environment).flatMap(Environment.init(rawValue:)),
            let dialect = UInt8(exactly: dialect).flatMap(Dialect.init(rawValue:)),
            let serviceNumber = UInt8(exactly: service)
        else { return nil }
        let service = Service(rawValue: serviceNumber)
        guard service != nil || serviceNumber == 0 else { return nil }
        self.provider = provider
        self.environment = environment
        self.service = service
        self.dialect = dialect
        self.app = app
        self.team = team
    }

    /// Numbers in the order of the columns.
    var numbers: [UInt8] { [provider.rawValue, environment.rawValue, service?.rawValue ?? 0, dialect.rawValue] }

    /// Bytes that tell kinds apart.
    var key: [UInt8] { numbers + app.utf8 + [0] + team.utf8 }
}
