// SPDX-License-Identifier: MIT

/// HTTP/1.1 for clients that know nothing newer: Google's own libraries fetch OAuth tokens with it,
/// and shells the counters. One request at a time; bodies with Content-Length only.
final class HTTP1Conversation: Conversation {
    private static let longestHeaderBlock = 65_536

    private unowned let validator: any RequestValidator
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var requests: Int32 = 0
    private var isWaiting = false
    private var isLast = false

    init(validator: any RequestValidator) { self.validator = validator }

    var isFinished: Bool { isLast && output.isEmpty && !isWaiting }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Requests may come while one waits, but not for ever.
        guard input.count &+ bytes.count <= Self.longestHeaderBlock + ReceivedRequest.longestBody else { return false }
        input.append(contentsOf: bytes)
        return readRequests()
    }

    func gather(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, output.count)
        buffer.copyBytes(from: output[..<count])
        output.removeFirst(count)
        return count
    }

    var openStreams: Int { isWaiting ? 1 : 0 }

    func answer(_ reaction: Reaction, stream: Int32) {
        guard isWaiting, stream == requests else { return }
        answer(reaction)
        _ = readRequests()
    }

    func begin(_ effect: FaultRule.Effect, stream: Int32) { validator.postpone(effect) }

    /// A GOAWAY of this version is the end after the answers under way.
    func perform(_ effect: FaultRule.Effect) {
        if case .goAway = effect { isLast = true }
    }

    private func readRequests() -> Bool {
        while !isWaiting, !isLast {
            guard let header = headerEnd() else { return input.count <= Self.longestHeaderBlock }
            guard var request = Self.parse(input[..<header]) else { return refuse(400, "not a request of HTTP/1.1") }
            guard !request.fields.contains(where: { $0.name == "transfer-encoding" }) else {
                return refuse(411, "a body needs Content-Length")
            }
            let text = request.fields.first { $0.name == "content-length" }?.value ?? "0"
            guard let length = Int(text), length >= 0, length <= ReceivedRequest.longestBody else {
                return refuse(413, "a body has at most \(ReceivedRequest.longestBody) bytes")
            }
            guard input.count - header - 4 >= length else {
                if request.fields.contains(where: { $0.name == "expect" }), input.count == header + 4 {
                    output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
                }
                return true
            }
            request.body = Array(input[(header + 4)..<(header + 4 + length)])
            input.removeFirst(header + 4 + length)
            process(request)
        }
        return true
    }

    private func refuse(_ status: Int, _ text: String) -> Bool {
        isLast = true
        input = []
        write(ProviderRouter.errorAnswer(status, text))
        return true
    }

    private func headerEnd() -> Int? {
        guard input.count >= 4 else { return nil }
        for index in 0...(input.count - 4) where input[index] == 0x0D {
            if input[index + 1] == 0x0A, input[index + 2] == 0x0D, input[index + 3] == 0x0A { return index }
        }
        return nil
    }

    private struct Header {
        var method: String
        var path: String
        var fields: [(name: String, value: String)]
        var body: [UInt8] = []
    }

    private static func parse(_ header: ArraySlice<UInt8>) -> Header? {
        let lines = String(decoding: header, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let start = lines[0].split(separator: " ")
        guard start.count == 3, start[2].hasPrefix("HTTP/1."), start[1].hasPrefix("/") else { return nil }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            var value = line[line.index(after: colon)...]
            while value.first == " " || value.first == "\t" { value.removeFirst() }
            while value.last == " " || value.last == "\t" { value.removeLast() }
            fields.append((line[..<colon].lowercased(), String(value)))
        }
        return Header(method: String(start[0]), path: String(start[1]), fields: fields)
    }

    private func process(_ header: Header) {
        let host = header.fields.first { $0.name == "host" }.map { [(":authority", $0.value)] } ?? []
        let headers = host + header.fields.filter { $0.name != "host" }.map { ($0.name, $0.value) }
        let request = ReceivedRequest(header.method, header.path, headers: headers, body: header.body)
        isLast = isLast || header.fields.contains { $0.name == "connection" && $0.value.lowercased() == "close" }
        requests &+= 1
        let reaction = validator.validate(request, stream: requests)
        var effects = reaction.effects
        // Without streams an answer can only fail to come together with the connection.
        if reaction.answer == nil, effects.contains(where: \.endsStream), !effects.contains(where: \.isClose) {
            effects.append(.close(isAbrupt: false))
        }
        let isLate = reaction.delay > 0
        for effect in effects where !(isLate && effect.isClose) { validator.postpone(effect) }
        isWaiting = true
        guard isLate else { return answer(reaction) }
        validator.later(reaction.delay) { [weak self] in
            guard let self else { return }
            answer(reaction)
            for effect in effects where effect.isClose { validator.postpone(effect) }
            _ = readRequests()
        }
    }

    private func answer(_ reaction: Reaction) {
        guard let answer = reaction.answer else { return }
        isWaiting = false
        validator.answerLeaves(reaction)
        write(answer)
    }

    private func write(_ answer: ProviderAnswer) {
        output.append(contentsOf: "HTTP/1.1 \(answer.status) \(answer.status < 300 ? "OK" : "Refused")\r\n".utf8)
        for header in answer.headers {
            output.append(contentsOf: "\(header.name): ".utf8)
            output.append(contentsOf: header.value)
            output.append(contentsOf: "\r\n".utf8)
        }
        if answer.status != 204 { output.append(contentsOf: "content-length: \(answer.body.count)\r\n".utf8) }
        if isLast { output.append(contentsOf: "connection: close\r\n".utf8) }
        output.append(contentsOf: "\r\n".utf8)
        output.append(contentsOf: answer.body)
    }
}
