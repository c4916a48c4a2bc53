// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// How a server is reached, and as whom.
public struct ValkeyAccess: Sendable {
    public let address: ValkeyAddress
    /// File whose first line is the password; empty: none. It is read again for each connection.
    public let passwordFile: String
    /// Certificates (PEM) that are trusted for `rediss://`; empty: the system's.
    public let caFile: String

    public init(_ address: ValkeyAddress, passwordFile: String = "", caFile: String = "") {
        self.address = address
        self.passwordFile = passwordFile
        self.caFile = caFile
    }

    /// The same for one server that another named; `description` is for messages.
    func of(_ host: ValkeyAddress.Host, _ description: String) -> ValkeyAccess {
        ValkeyAccess(
            ValkeyAddress(host, user: address.user, isTLS: address.isTLS, description: description),
            passwordFile: passwordFile, caFile: caFile)
    }

    /// What each connection begins with; a handler gives what is wrong. `isPasswordOptional`: a server that takes none is
    /// well too.
    func greeting(isPasswordOptional: Bool = false) -> ValkeyGreeting {
        var commands: ValkeyGreeting = []
        if !passwordFile.isEmpty {
            do throws(SystemError) {
                let password = FileContent.firstLine(of: try FileContent.read(passwordFile))
                let words = ["AUTH"] + (address.user.isEmpty ? [] : [address.user])
                commands.append(
                    (
                        words.map { Array($0.utf8) } + [password],
                        { reply in
                            guard case .error(let text) = reply, !isPasswordOptional else { return nil }
                            // The rest may repeat what was sent.
                            return
                                "\(text.prefix { $0 != " " }) to AUTH; check the user in store, and store_password_file"
                        }
                    ))
            } catch {
                let text = "store_password_file: cannot \(error)"
                commands.append(([Array("PING".utf8)], { _ in text }))
            }
        }
        if address.database != 0 {
            commands.append(
                (
                    ["SELECT", "\(address.database)"].map { Array($0.utf8) },
                    { reply in if case .error(let text) = reply { text } else { nil } }
                ))
        }
        if case .sentinel = address.place {
            commands.append(
                (
                    ["ROLE".word],
                    { reply in
                        // A Sentinel that was away may not have heard of the new one.
                        if case .error(let text) = reply { return text }
                        return reply.elements.first?.text == "master" ? nil : "it is not a master now"
                    }
                ))
        }
        return commands
    }
}
