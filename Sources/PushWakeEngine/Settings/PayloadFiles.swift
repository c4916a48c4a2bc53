// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeSystem

/// The payload templates that the settings ask for: a built-in family, and files of the operator's own over it.
///
///     PROVIDER.json         for every app of apns, fcm or webpush
///     PROVIDER.APP.json     for one bundle id, package or project
///     apns-TYPE.json, apns-TYPE.APP.json    for one of Apple's push types alone: voip, alert, background
///     fcmmessage.txt, pushkitmessage.txt    Mizutech's names for fcm.json and apns.json
enum PayloadFiles {
    /// What could be loaded, and what could not: a broken file leaves the built-in template in place.
    static func load(_ settings: Settings) -> (PayloadLibrary?, problems: [String]) {
        // The setting was checked when it was set.
        let families = (try? PayloadFamilies(setting: settings.text(.payload))) ?? PayloadFamilies(.auto)
        var problems: [String] = []
        var library: PayloadLibrary
        do throws(PayloadTemplateError) {
            library = try PayloadLibrary(
                families, notifications: notifications(settings), flexisipCompatible: settings.flag(.flexisipCompat),
                isDeclarative: HTTPOrigin.split(settings.text(.webPushNavigate)) != nil)
        } catch {
            return (nil, ["the built-in payload cannot be used: \(error)"])
        }
        let directory = settings.text(.templateDirectory)
        guard !directory.isEmpty else { return (library, []) }
        do throws(SystemError) {
            var targets: [(name: String, target: Target)] = []
            for name in try FileContent.names(in: directory, ending: "") {
                guard let target = Target(fileName: name) else {
                    if name.hasSuffix(".json") {
                        problems.append("\(directory)/\(name) is for no provider and not used; \(naming)")
                    }
                    continue
                }
                targets.append((name, target))
            }
            for (name, target) in targets.sorted(by: { $0.target.rank < $1.target.rank }) {
                load("\(directory)/\(name)", target, settings, into: &library, &problems)
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
        _ path: String, _ target: Target, _ settings: Settings, into library: inout PayloadLibrary,
        _ problems: inout [String]
    ) {
        do throws(SystemError) {
            let source = try FileContent.read(path)
            do throws(PayloadTemplateError) {
                try library.load(source, for: target.provider, app: target.app, type: target.type)
                for word in PayloadKeywords.unknown(in: source) {
                    problems.append("\(path):\(word.line):\(word.column): \(word.message)")
                }
            } catch {
                var outcome = "the payload goes out without this file"
                // The name says whose apps are to be woken.
                if target.isMizutech, !settings.isChanged(.payload),
                    (try? library.use(.mizutech, for: target.provider)) != nil
                {
                    outcome =
                        "until it is put right the built-in one goes out; pushwake payload mizutech \(target.provider.name) prints it"
                }
                problems.append("\(path):\(error.line):\(error.column): \(error.message); \(outcome)")
            }
        } catch {
            problems.append("cannot \(error); the payload goes out without this file")
        }
    }

    private static let naming = "name it after apns, fcm or webpush: apns.json, or apns.com.example.phone.json"

    /// What a file is for, by its name.
    private struct Target {
        let provider: Provider
        let app: String
        let type: APNsPushType?
        /// It has the name of one of Mizutech's files.
        let isMizutech: Bool

        /// What is for less replaces what is for more, so it comes later.
        var rank: Int { (app.isEmpty ? 0 : 2) + (type == nil ? 0 : 1) }

        init?(fileName name: String) {
            isMizutech = name.hasSuffix("message.txt")
            switch name {
            case "fcmmessage.txt": (provider, app, type) = (.fcm, "", nil)
            case "pushkitmessage.txt": (provider, app, type) = (.apns, "", nil)
            default:
                guard name.hasSuffix(".json") else { return nil }
                let stem = name.dropLast(".json".count)
                let subject = stem.prefix { $0 != "." }
                let words = subject.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
                guard let provider = PayloadFamilies.providers.first(where: { $0.name == words[0] }) else { return nil }
                type = words.count > 1 ? APNsPushType(name: String(words[1])) : nil
                guard words.count == 1 || provider == .apns && type != nil else { return nil }
                self.provider = provider
                app = String(stem.dropFirst(subject.count + 1))
            }
        }
    }
}
