// SPDX-License-Identifier: MIT

import Glibc
import PushWakeCore

@testable import PushWakeEngine
@testable import PushWakeStore

/// Reads any bytes as what a shared store, another node or a file beside the store hands back: what can be read is
/// written so that it reads the same. The first byte picks which.
public func fuzzImage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 6 {
    case 0: readUser(bytes)
    case 1: readReplies(bytes, step: Int(choice / 6) + 1)
    case 2: readNotice(bytes)
    case 3: readDocument(bytes)
    case 4: readTimes(bytes)
    default:
        let devices = UpstreamFile.devices(bytes)
        guard devices.count == bytes.count / 16, UpstreamFile.bytes(devices) == Array(bytes[..<(devices.count * 16)])
        else {
            fatalError("not the same devices: \(devices)")
        }
    }
    return 0
}

private func readUser(_ bytes: [UInt8]) {
    guard let (version, user) = UserImage.decode(bytes, of: "alice") else { return }
    let again = UserImage.decode(UserImage.encode(user, of: "alice", version: version), of: "alice")
    let isNobody = user.live.isEmpty && user.tombstones.isEmpty
    guard isNobody || again?.user.live.map(\.binding) == user.live.map(\.binding) && again?.version == version else {
        fatalError("not the same user: \(user)")
    }
    let store = MemoryStore()
    store.load(user, of: "alice")
    _ = store.bindings(of: "alice", now: 0)
}

// MARK: Replies of servers

/// The same in whatever pieces they come.
private func readReplies(_ bytes: [UInt8], step: Int) {
    let whole = replies(in: bytes, step: max(bytes.count, 1))
    guard whole == replies(in: bytes, step: step) else { fatalError("not the same in pieces of \(step)") }
    let asked = ValkeyAddress.Host(name: "192.0.2.1", port: 6379)
    for reply in whole {
        if let map = ClusterMap(reply, asked: asked) { check(map) }
        guard case .error(let text) = reply else { continue }
        _ = (
            ServerErrors.isAboutOne(text), ServerRights.isDenial(text), ServerRights.right(of: "get", text, prefix: "p")
        )
        guard case .moved(let slot, let host)? = ClusterRedirection(text, asked: asked) else { continue }
        var map = ClusterMap()
        map.move(slot, to: host)
        guard map.master(of: slot) == ((0..<ClusterMap.slotCount).contains(slot) ? host : nil) else {
            fatalError("\(slot) was moved to \(host)")
        }
    }
}

private func replies(in bytes: [UInt8], step: Int) -> [ValkeyReply] {
    guard let reader = ValkeyReader() else { return [] }
    var found: [ValkeyReply] = []
    for start in stride(from: 0, to: bytes.count, by: step) {
        let piece = bytes[start..<min(bytes.count, start + step)]
        guard piece.withUnsafeBytes({ reader.feed($0) }) else { return found }
        reading: while true {
            switch reader.next() {
            case .reply(let reply): found.append(reply)
            case .incomplete: break reading
            case .broken: return found
            }
        }
    }
    return found
}

private func check(_ map: ClusterMap) {
    for slot in stride(from: 0, to: ClusterMap.slotCount, by: 97) {
        guard let master = map.master(of: slot) else { continue }
        guard map.masters.contains(master), map.nodes.contains(master) else { fatalError("\(master) is no node") }
    }
}

// MARK: Nodes and documents

private func readNotice(_ bytes: [UInt8]) {
    guard let notice = RegistrationNotice(bytes) else { return }
    guard RegistrationNotice(notice.bytes) == notice else { fatalError("not the same notice: \(notice)") }
    for contact in notice.contacts where contact.shortKey.utf8.count >= 40 {
        fatalError("too long: \(contact.shortKey)")
    }
}

private func readDocument(_ bytes: [UInt8]) {
    guard let json = JanssonValue.parse(bytes), let binding = try? BindingDocument.read(json) else { return }
    let line = BindingDocument.write(binding, withSecrets: true) { $0 }
    guard !line.contains(0x0A), let same = JanssonValue.parse(line), (try? BindingDocument.read(same)) == binding else {
        fatalError("not the same binding: \(String(decoding: line, as: UTF8.self))")
    }
    let shown = BindingDocument.write(binding, withSecrets: false) { _ in "shortened" }
    guard let shown = JanssonValue.parse(shown), (try? BindingDocument.read(shown)) == nil else {
        fatalError("a shortened token was taken")
    }
}

// MARK: Times beside the store

/// Takes the bytes for the whole file; what stands at a place can be written there again.
private func readTimes(_ bytes: [UInt8]) {
    let path = "/tmp/pushwake-fuzz-\(getpid())"
    let name = path + "-times"
    let descriptor = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else { return }
    close(descriptor)
    defer { unlink(name) }
    guard let file = TimesFile(storePath: path) else { fatalError("\(name) cannot be opened") }
    var found: [(id: Int64, place: TimesFile.Place)] = []
    try? file.forEach(users: 3) { found += $0 }
    for (id, place) in found {
        guard TimesFile.hasPlace(id), file.places(ofUser: id >> 8)[Int(id & 0xFF)] == place else {
            fatalError("\(id) has another place")
        }
    }
    file.clearAll()
    guard file.isEmpty else { fatalError("not empty") }
    for (id, place) in found {
        guard file.write([place], of: id), file.places(ofUser: id >> 8)[Int(id & 0xFF)] == place else {
            fatalError("\(id) was not written: \(place)")
        }
        file.clear(id)
        guard file.places(ofUser: id >> 8)[Int(id & 0xFF)] == nil else { fatalError("\(id) was not cleared") }
    }
}
