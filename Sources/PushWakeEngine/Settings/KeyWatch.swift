// SPDX-License-Identifier: MIT

internal import PushWakeSystem

/// Notices that files of keys are new, changed or gone, by looking at them now and then.
///
/// It reads nothing. A change counts once it has looked the same twice in a row: who writes a file, or a
/// certificate and its key, may not be done yet.
struct KeyWatch {
    private let paths: [String]
    private let isOurs: ((_ name: String) -> Bool)?
    private var known: [String: FileStamp]
    private var pending: [String: FileStamp]?

    /// Watches files, and directories with all that is in them, or only with the files whose name fits; what they
    /// look like now changes nothing.
    init(_ paths: [String], names isOurs: ((_ name: String) -> Bool)? = nil) {
        self.paths = paths.filter { !$0.isEmpty }
        self.isOurs = isOurs
        known = Self.look(at: self.paths, isOurs)
    }

    /// Looks, and says whether there is a change that has settled.
    mutating func look() -> Bool {
        let seen = Self.look(at: paths, isOurs)
        guard seen != known else {
            pending = nil
            return false
        }
        guard seen == pending else {
            pending = seen
            return false
        }
        (known, pending) = (seen, nil)
        return true
    }

    private static func look(at paths: [String], _ isOurs: ((_ name: String) -> Bool)?) -> [String: FileStamp] {
        var stamps: [String: FileStamp] = [:]
        for path in paths {
            guard let stamp = FileStamp(path) else { continue }
            // A directory changes with every file in it, and some are none of ours.
            if isOurs == nil || !stamp.isDirectory { stamps[path] = stamp }
            guard stamp.isDirectory, let names = try? FileContent.names(in: path, ending: "") else { continue }
            for name in names where name != ".." && isOurs?(name) != false {
                stamps["\(path)/\(name)"] = FileStamp("\(path)/\(name)")
            }
        }
        return stamps
    }
}
