// SPDX-License-Identifier: MIT

/// What a kamailio.cfg says about modules, parameters and the order of calls, as far as `pushwake check` asks.
///
/// No interpreter: conditions are not evaluated, `#!ifdef` is. Anything that is not understood is passed over.
public struct KamailioConfiguration {
    /// Where something stands.
    public struct Location: Equatable, Sendable {
        public let file: String
        /// From 1.
        public let line: Int

        public init(file: String, line: Int) {
            self.file = file
            self.line = line
        }
    }

    /// A module's parameter.
    public struct Parameter: Equatable, Sendable {
        /// One module, or several joined by `|`.
        public let modules: String
        public let name: String
        public let value: String
        public let location: Location

        /// Whether it is for this module.
        public func isOf(_ module: String) -> Bool { modules.split(separator: "|").contains { $0 == module } }
    }

    /// One piece of a route, in the order of the text.
    public enum Step: Equatable, Sendable {
        /// Its arguments are those that are written as strings, and names.
        case call(name: String, arguments: [String], Location)
        case blockBegins
        case blockEnds
        /// `exit` or `drop`.
        case leaves
    }

    public private(set) var modules: [(name: String, location: Location)] = []
    public private(set) var parameters: [Parameter] = []
    /// The core's `server_id`, as it is written last; nil where it is not.
    public private(set) var serverID: (value: String, location: Location)?
    /// By name: `request_route`, `route[RELAY]`, `failure_route[X]`.
    public private(set) var routes: [String: [Step]] = [:]
    /// Where each of them begins.
    public private(set) var places: [String: Location] = [:]

    /// Files that could not be read. Kamailio passes over those of `import_file`.
    public private(set) var missing: [(file: String, isNeeded: Bool, location: Location)] = []
    /// Files that it includes, in the order in which they were read.
    public private(set) var included: [(file: String, location: Location)] = []

    /// Whether a text is one of these, and not a list of settings.
    public static func isOne(_ text: String) -> Bool {
        text.hasPrefix("#!KAMAILIO") || text.hasPrefix("#!SER") || text.hasPrefix("#!ALL")
            || text.split(whereSeparator: \.isNewline).contains { line in
                line.drop { $0 == " " || $0 == "\t" }.hasPrefix("loadmodule")
            }
    }

    /// Reads a file and those that it includes; `read` gives the text of one, nil when there is none. `defines` are
    /// those of Kamailio's `-A`, `environment` gives the value of one of its variables.
    public init(
        _ text: String, file: String, defines: [String] = [],
        environment: @escaping (String) -> String? = { _ in nil }, read: (String) -> String?
    ) {
        var lexer = KamailioLexer(KamailioDefinitions(defines, environment: environment))
        lexer.take(text, file: file, depth: 0, read: read)
        self.init(lexer.tokens, lexer.definitions)
        missing = lexer.missing
        included = lexer.included
    }

    private init(_ tokens: [KamailioLexer.Token], _ definitions: KamailioDefinitions) {
        var index = 0
        func text(_ offset: Int) -> String { index + offset < tokens.count ? tokens[index + offset].text : "" }
        var route: String?
        var depth = 0
        while index < tokens.count {
            let token = tokens[index]
            defer { index += 1 }
            if token.isString { continue }
            if let name = route {
                switch token.text {
                case "{":
                    depth += 1
                    if depth > 1 { routes[name, default: []].append(.blockBegins) }
                case "}":
                    depth -= 1
                    if depth > 0 { routes[name, default: []].append(.blockEnds) } else { route = nil }
                case "exit", "drop": routes[name, default: []].append(.leaves)
                default:
                    guard token.isWord, text(1) == "(", !Self.words.contains(token.text) else { break }
                    let arguments = Self.arguments(tokens, from: index + 2)
                    routes[name, default: []].append(.call(name: token.text, arguments: arguments, token.location))
                }
                continue
            }
            switch token.text {
            case "loadmodule", "loadmodulex":
                let name = text(1) == "(" ? text(2) : text(1)
                let file = name.split(separator: "/").last.map(String.init) ?? name
                modules.append((file.hasSuffix(".so") ? String(file.dropLast(3)) : file, token.location))
            case "modparam", "modparamx":
                let values = Self.arguments(tokens, from: index + 2)
                guard values.count == 3 else { break }
                let value = token.text == "modparamx" ? definitions.expanded(values[2]) : values[2]
                parameters.append(
                    Parameter(modules: values[0], name: values[1], value: value, location: token.location))
            case "server_id" where text(1) == "=":
                serverID = (text(2), token.location)
            case "request_route", "reply_route":
                route = token.text
            case _ where token.text == "route" || token.text.hasSuffix("_route"):
                if text(1) == "[" {
                    var end = 2
                    var name = ""
                    while index + end < tokens.count, text(end) != "]" {
                        name += text(end)
                        end += 1
                    }
                    route = "\(token.text)[\(name)]"
                } else if text(1) == "{" {
                    route = token.text == "route" ? "request_route" : token.text
                }
                if let route {
                    routes[route] = routes[route] ?? []
                    places[route] = token.location
                }
            default: break
            }
        }
    }

    /// What the module has beside the settings; `wait` is another one at Asterisk.
    private static let ownParameters = [
        "event_callback", "failure_callback", "lookup_goes_on", "upstream_table", "wait",
    ]

    /// What it sets, and each parameter that does not fit.
    public var settings: (values: Settings, mistakes: [(error: SettingError, location: Location)]) {
        var values = Settings()
        var mistakes: [(error: SettingError, location: Location)] = []
        for parameter in parameters where parameter.isOf("pushwake") && !Self.ownParameters.contains(parameter.name) {
            do throws(SettingError) {
                try values.set(parameter.name, to: parameter.value)
            } catch {
                mistakes.append((error, parameter.location))
            }
        }
        return (values, mistakes)
    }

    private static let words: Set<String> = ["if", "while", "switch", "case", "not", "and", "or"]

    /// Strings, names and numbers up to the bracket that closes.
    private static func arguments(_ tokens: [KamailioLexer.Token], from start: Int) -> [String] {
        var found: [String] = []
        var depth = 1
        var sign = ""
        for token in tokens[min(start, tokens.count)...] {
            if token.isString {
                if depth == 1 { found.append(token.text) }
                continue
            }
            switch token.text {
            case "(": depth += 1
            case ")": depth -= 1
            case ",": break
            case "-": sign = "-"
            default:
                if depth == 1 { found.append(sign + token.text) }
                sign = ""
            }
            if depth == 0 { break }
        }
        return found
    }
}
