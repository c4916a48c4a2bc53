// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// What the settings say of an HTTP proxy, and the file with its password.
enum ProxyFile {
    private static let longest = 512

    /// The proxy on the way to a host; nil when there is none. A password that cannot be had is left out: the proxy's
    /// answer will say so, and `problems` has.
    static func proxy(_ settings: Settings, to host: String) -> HTTPPoolConfiguration.Proxy? {
        guard let address = ProxyAddress(settings.text(.httpProxy)),
            !ProxyExceptions(settings.text(.noProxy)).contains(host)
        else { return nil }
        let credentials = (try? self.credentials(settings)) ?? nil
        return HTTPPoolConfiguration.Proxy(
            address.origin, authorization: credentials.map(ProxyAddress.authorization) ?? "")
    }

    /// What is wrong with the settings of the proxy, each with the setting and the remedy.
    static func problems(_ settings: Settings) -> [(key: SettingKey, text: String)] {
        var problems: [(SettingKey, String)] = []
        let address = ProxyAddress(settings.text(.httpProxy))
        if address == nil, !settings.text(.httpProxyAuth).isEmpty || !settings.text(.noProxy).isEmpty {
            problems.append((.httpProxy, "is empty, so http_proxy_auth and no_proxy mean nothing; set host:port"))
        }
        if address?.credentials != nil, !settings.text(.httpProxyAuth).isEmpty {
            problems.append((.httpProxyAuth, "http_proxy has a name and password too; keep them in the file only"))
        }
        do throws(KeyFileError) {
            _ = try credentials(settings)
        } catch {
            problems.append((.httpProxyAuth, error.message))
        }
        if let entry = ProxyExceptions(settings.text(.noProxy)).problem {
            problems.append(
                (.noProxy, "\"\(entry)\" is not a host; write names without https:// and port, or networks"))
        }
        return problems
    }

    /// `user:password`; the file goes before the address.
    private static func credentials(_ settings: Settings) throws(KeyFileError) -> String? {
        let path = settings.text(.httpProxyAuth)
        guard !path.isEmpty else { return ProxyAddress(settings.text(.httpProxy))?.credentials }
        let remedy = "give a file whose first line is user:password, readable for the PBX"
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContent.read(path)
        } catch {
            throw KeyFileError(message: "cannot \(error); \(remedy)")
        }
        let line = FileContent.firstLine(of: bytes)
        guard line.count <= longest, line.dropFirst().contains(UInt8(ascii: ":")), line.first != UInt8(ascii: ":"),
            !line.contains(where: { $0 < 0x20 || $0 == 0x7F }), let text = String(validating: line, as: UTF8.self)
        else { throw KeyFileError(message: "\(path) does not begin with user:password; \(remedy)") }
        return text
    }
}
