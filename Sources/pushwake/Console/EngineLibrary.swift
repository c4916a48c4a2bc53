// SPDX-License-Identifier: MIT

import CPushWake
import Glibc
import PushWakeCore
import PushWakeSystem

/// The libpushwake that has the engine's code: the very file that a PBX loads. The program has none of it.
struct EngineLibrary {
    /// Why there is no engine to run.
    struct Failure: Error {
        let message: String
    }

    private typealias Version = @convention(c) () -> CInt
    private typealias New = @convention(c) (UnsafeMutablePointer<OpaquePointer?>?) -> CInt
    private typealias Set = @convention(c) (OpaquePointer?, pushwake_str, pushwake_str) -> CInt
    private typealias File = @convention(c) (OpaquePointer?, pushwake_str) -> CInt
    private typealias Failed = @convention(c) (OpaquePointer?) -> pushwake_str
    private typealias Run = @convention(c) (OpaquePointer?, CInt) -> CInt
    private typealias RunTool =
        @convention(c) (OpaquePointer?, pushwake_str, UnsafePointer<pushwake_str>?, Int) -> CInt

    private static let name = "libpushwake.so.1"
    private let new: New
    private let set: Set
    private let read: File
    private let failed: Failed
    private let execute: Run
    private let executeTool: RunTool

    /// Loads the library: the one that is named, the one that was installed with this program, or the system's.
    init(named given: String?) throws(Failure) {
        let file = given ?? Self.installed() ?? Self.name
        guard let image = dlopen(file, RTLD_NOW) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown error"
            throw Failure(message: "cannot load \(file): \(reason); install libpushwake, or name it with --library")
        }
        guard let version = dlsym(image, "pushwake_abi_version"), let new = dlsym(image, "pushwake_settings_new"),
            let set = dlsym(image, "pushwake_settings_set"), let run = dlsym(image, "pushwake_engine_run"),
            let read = dlsym(image, "pushwake_settings_file"), let failed = dlsym(image, "pushwake_settings_error"),
            let tool = dlsym(image, "pushwake_tool_run")
        else { throw Failure(message: "\(file) has no engine; install libpushwake \(Release.version)") }
        let loaded = unsafeBitCast(version, to: Version.self)()
        guard loaded == PUSHWAKE_ABI_VERSION else {
            throw Failure(
                message: "\(file) has version \(loaded) of the interface, this program needs \(PUSHWAKE_ABI_VERSION); "
                    + "install both of one release")
        }
        self.new = unsafeBitCast(new, to: New.self)
        self.set = unsafeBitCast(set, to: Set.self)
        self.read = unsafeBitCast(read, to: File.self)
        self.failed = unsafeBitCast(failed, to: Failed.self)
        execute = unsafeBitCast(run, to: Run.self)
        executeTool = unsafeBitCast(tool, to: RunTool.self)
    }

    /// Runs the engine until it is told to end; false when it could not start and has said why. `path` is a settings
    /// file, which it reads again when it is told to; `values` stand above it.
    func run(
        file path: String?, _ values: [(name: String, value: String)], isSupervised: Bool, isTrial: Bool
    ) throws(Failure) -> Bool {
        let handle = try make(values, above: path)
        return execute(handle, isTrial ? 2 : isSupervised ? 1 : 0) >= 0
    }

    /// Runs one of the tools with options such as `file=pushwake.conf`, and returns its exit code.
    func run(_ tool: String, _ words: [String], _ values: [(name: String, value: String)]) throws(Failure) -> CInt {
        let handle = try make(values, above: nil)
        let bytes = Array(words.joined().utf8)
        let code = bytes.withUnsafeBytes { bytes in
            var start = 0
            let strings = words.map { word in
                let count = word.utf8.count
                defer { start += count }
                return pushwake_str(
                    ptr: bytes.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self), len: count)
            }
            return Self.with(tool[...]) { executeTool(handle, $0, strings, strings.count) }
        }
        guard code >= 0 else {
            throw Failure(message: "libpushwake does not take these options of \(tool); install both of one release")
        }
        return code
    }

    /// Settings for the library: `values` stand above those of a file.
    private func make(
        _ values: [(name: String, value: String)], above path: String?
    ) throws(Failure) -> OpaquePointer {
        var handle: OpaquePointer?
        guard new(&handle) >= 0, let handle else { throw Failure(message: "no memory for the settings") }
        if let path, Self.with(path[...], { read(handle, $0) }) < 0 {
            let text = failed(handle)
            let bytes = UnsafeRawBufferPointer(start: text.ptr, count: text.len)
            throw Failure(message: String(decoding: bytes, as: UTF8.self))
        }
        for (name, value) in values {
            let status = Self.with(name[...]) { name in Self.with(value[...]) { value in set(handle, name, value) } }
            guard status >= 0 else {
                throw Failure(message: "libpushwake does not take \(name); install both of one release")
            }
        }
        return handle
    }

    private static func with(_ text: Substring, _ body: (pushwake_str) -> CInt) -> CInt {
        var text = text
        return text.withUTF8 { bytes in
            body(
                pushwake_str(
                    ptr: UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self), len: bytes.count))
        }
    }

    /// Beside this program, as `make` and packages lay them out; nil when it is not there.
    private static func installed() -> String? {
        guard let program = FileContent.target(ofLink: "/proc/self/exe") else { return nil }
        let directory = Directory.parent(of: program)
        return ["\(directory)/../lib/\(name)", "\(directory)/\(name)"].first { FileStamp($0) != nil }
    }
}
