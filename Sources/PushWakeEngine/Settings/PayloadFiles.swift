// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeTransport

/// The payload templates that the settings ask for: a built-in family, and files of the operator's own over it.
///
///     PROVIDER.json        for every app of apns or fcm
///     PROVIDER.APP.json    for one bundle id, package or project
///     fcmmessage.txt, pushkitmessage.txt    Mizutech's names for fcm.json and apns.json
enum PayloadFiles {
    /// What could be loaded, and what could not: a broken file leaves the built-in template in place.
    static func load(_ settings: Settings) -> (PayloadLibrary?, problems: [String]) {
        // The setting was judged when it was set.
        let families = (try? PayloadFamilies(setting: settings.text(.payload))) ?? PayloadFamilies(.plain)
        var problems: [String] = []
        var library: PayloadLibrary
        do throws(PayloadTemplateError) {
            library = try PayloadLibrary(
                families, notifications: notifications(settings), flexisipCompatible: settings.flag(.flexisipCompat))
        } catch {
            return (nil, ["the built-in payload cannot be used: \(error)"])
        }
        let directory = settings.text(.templateDirectory)
        guard !directory.isEmpty else { return (library, []) }
        do throws(SystemError) {
            let names = try FileContent.names(in: directory, ending: "")
            for name in names {
                guard let (provider, app) = target(name) else {
                    if name.hasSuffix(".json") {
                        problems.append("\(directory)/\(name) is for no provider and not used; \(naming)")
                    }
                    continue
                }
                load("\(directory)/\(name)", provider, app, into: &library, &problems)
            }
        } catch {
            problems.append("cannot \(error); the built-in payloads are used")
        }
        return (library, problems)
    }

    private static func notifications(_ settings: Settings) -> PayloadLibrary.NotificationRule {
        switch settings.text(.fcmNotification) {
        case "keep": .keep
        case "remove": .remove
        default: .automatic
        }
    }

    private static func load(
        _ path: String, _ provider: Provider, _ app: String, into library: inout PayloadLibrary,
        _ problems: inout [String]
    ) {
        do throws(SystemError) {
            let source = try FileContent.read(path)
            do throws(PayloadTemplateError) {
                try library.load(source, for: provider, app: app)
            } catch {
                problems.append(
                    "\(path):\(error.line):\(error.column): \(error.message); the payload goes out without this file")
            }
        } catch {
            problems.append("cannot \(error); the payload goes out without this file")
        }
    }

    private static let naming = "name it after apns, fcm or webpush: apns.json, or apns.com.example.phone.json"

    private static func target(_ name: String) -> (Provider, app: String)? {
        switch name {
        case "fcmmessage.txt": return (.fcm, "")
        case "pushkitmessage.txt": return (.apns, "")
        default: break
        }
        guard name.hasSuffix(".json") else { return nil }
        let stem = name.dropLast(".json".count)
        for provider in PayloadFamilies.providers {
            if stem == provider.name { return (provider, "") }
            if stem.hasPrefix("\(provider.name).") {
                return (provider, String(stem.dropFirst(provider.name.count + 1)))
            }
        }
        return nil
    }
}
