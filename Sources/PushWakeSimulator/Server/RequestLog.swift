// SPDX-License-Identifier: MIT

internal import CLinux
import PushWakeCore
import PushWakeTransport

/// The log: one JSON object per request and line, in the file before the answer leaves.
final class RequestLog {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Opens a file to append to; throws the reason in the system's words.
    init(path: String) throws(FileStore.Failure) {
        descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw FileStore.Failure(description: "cannot write \(path): \(String(cString: strerror(clinux_errno())))")
        }
    }

    deinit { close(descriptor) }

    /// Adds one line; `now` in milliseconds since the epoch.
    func add(_ request: ReceivedRequest, _ reaction: Reaction, _ memory: ConnectionMemory, stream: Int32, now: Int64) {
        buffer.append(contentsOf: "{\"t\":\(now / 1_000).".utf8)
        let fraction = now % 1_000
        if fraction < 100 { buffer.append(UInt8(ascii: "0")) }
        if fraction < 10 { buffer.append(UInt8(ascii: "0")) }
        buffer.append(contentsOf: "\(fraction)".utf8)
        buffer.append(contentsOf: ",\"provider\":\"\(reaction.provider?.rawValue ?? "none")\"".utf8)
        member("method", String(decoding: request.bytes(.method) ?? [], as: UTF8.self))
        member("path", String(decoding: request.bytes(.path) ?? [], as: UTF8.self))
        addHeaders(request)
        addBody(request.body)
        let outcome = reaction.outcome
        buffer.append(contentsOf: ",\"status\":\(outcome.status)".utf8)
        member("reason", outcome.reason)
        buffer.append(contentsOf: ",\"connection\":\(memory.number),\"stream\":\(stream)".utf8)
        if let certificate = memory.apns.certificate { member("certificate", certificate.topics.first ?? "") }
        buffer.append(contentsOf: "}\n".utf8)
        if buffer.count > 1_048_576 { flush() }
    }

    /// Writes what has been added.
    func flush() {
        var done = 0
        while done < buffer.count {
            let count = buffer[done...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, clinux_errno() == EINTR { continue }
            guard count > 0 else { break }
            done += count
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func member(_ name: StaticString, _ value: String) {
        buffer.append(contentsOf: ",\"\(name)\":".utf8)
        JSONText.write(value.utf8, to: &buffer)
    }

    /// A header that came twice is shown once, its values joined.
    private func addHeaders(_ request: ReceivedRequest) {
        var joined: [(name: String, value: String)] = []
        for (name, value) in request.headers where !name.hasPrefix(":") {
            if let index = joined.firstIndex(where: { $0.name == name }) {
                joined[index].value += ", \(value)"
            } else {
                joined.append((name, value))
            }
        }
        buffer.append(contentsOf: ",\"headers\":{".utf8)
        for (index, header) in joined.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            JSONText.write(header.name.utf8, to: &buffer)
            buffer.append(UInt8(ascii: ":"))
            JSONText.write(header.value.utf8, to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    /// JSON as it came, text as a string, anything else as base64url.
    private func addBody(_ body: [UInt8]) {
        buffer.append(contentsOf: ",\"body\":".utf8)
        if JSONParser.isObject(body) {
            // Line ends stand between the tokens of valid JSON only.
            buffer.append(contentsOf: body.lazy.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
        } else if let text = String(validating: body, as: UTF8.self) {
            JSONText.write(text.utf8, to: &buffer)
        } else {
            JSONText.write(("base64:" + Base64URL.encode(body)).utf8, to: &buffer)
        }
    }
}
