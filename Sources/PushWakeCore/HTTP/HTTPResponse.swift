// SPDX-License-Identifier: MIT

/// One HTTP answer, bounded: the transport cuts bodies and header lists that are too long.
public struct HTTPResponse: Equatable, Sendable {
    /// One header field; a name that came twice stands in two.
    public struct Header: Equatable, Sendable {
        /// Lower case.
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public var status: Int
    public var headers: [Header]
    public var body: [UInt8]

    public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// First value under a lower-case name.
    public subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
}
