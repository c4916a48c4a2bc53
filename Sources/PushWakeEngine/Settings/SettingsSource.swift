// SPDX-License-Identifier: MIT

public import PushWakeCore
internal import PushWakeSystem

/// Where an engine's settings come from, to read them again: a file, and what was said beside it.
public struct SettingsSource: Equatable, Sendable {
    /// A file that cannot be used: a line for each thing that is wrong, with its place.
    public struct Failure: Error, Equatable, Sendable {
        public let lines: [String]
    }

    public let path: String
    /// Stands above what the file says.
    private var others: [Other] = []

    private struct Other: Equatable {
        let name: String
        let value: String
    }

    /// The file is read when it is asked for.
    public init(path: String) { self.path = path }

    /// Sets a value above the file's.
    public mutating func set(_ name: String, to value: String) { others.append(Other(name: name, value: value)) }

    /// What file and others say now.
    public func read() throws(Failure) -> Settings {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContent.read(path)
        } catch {
            throw Failure(lines: ["\(error); give a readable file with --settings"])
        }
        var settings = Settings()
        let problems = settings.read(file: String(decoding: bytes, as: UTF8.self))
        guard problems.isEmpty else {
            throw Failure(lines: problems.map { "\(path):\($0.line): \($0.error.setting): \($0.error.message)" })
        }
        for other in others {
            do throws(SettingError) {
                try settings.set(other.name, to: other.value)
            } catch {
                throw Failure(lines: ["\(error.setting): \(error.message)"])
            }
        }
        return settings
    }
}
