// SPDX-License-Identifier: MIT

@testable import PushWakeCore

/// Feeds a whole REGISTER, or one header value after a byte that picks the header, to the reader.
public func fuzzRegister(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Span(_unsafeElements: UnsafeBufferPointer(start: start, count: count))
    guard count > 0 else { return 0 }
    switch bytes[0] {
    case 1: header("Contact", bytes.extracting(droppingFirst: 1))
    case 2: header("X-MPUSH", bytes.extracting(droppingFirst: 1))
    case 3: header("Feature-Caps", bytes.extracting(droppingFirst: 1))
    case 4: header("To", bytes.extracting(droppingFirst: 1))
    case 5: _ = NameAddress.displayName(bytes.extracting(droppingFirst: 1))
    case 6: parameters(bytes.extracting(droppingFirst: 1))
    default: _ = RegisterDocument.parse(bytes)
    }
    return 0
}

private func header(_ name: String, _ value: Span<UInt8>) {
    var reader = RegistrationReader()
    reader.header(name: name.utf8.span, value: value)
    let registration = reader.finish()
    check(registration)
    if !RegistrationReader.mayConcernPush(name: name.utf8.span, value: value) { checkSilence(of: registration) }
}

/// The URI parameters of one Contact: most inputs get past the brackets this way.
private func parameters(_ value: Span<UInt8>) {
    var contact = Array("<sip:a@h;pn-provider=".utf8)
    value.append(to: &contact)
    contact.append(UInt8(ascii: ">"))
    header("Contact", contact.span)
}

/// Nobody reads it, so nothing may be lost.
private func checkSilence(of registration: Registration) {
    let isSilent =
        registration.contacts.allSatisfy { $0.push == .none } && !registration.unbinds
        && !registration.isPushedUpstream && registration.upstream == UpstreamAccount()
    // Contacts beyond the most are a problem of no phone with push.
    guard isSilent, registration.problems.allSatisfy({ $0.code == .tooManyContacts }) else {
        fatalError("not read: \(registration)")
    }
}

/// What a request is built from must be safe to put into it.
private func check(_ registration: Registration) {
    for binding in registration.bindings {
        _ = binding.contactWithoutPushParameters
        let isSafe = binding.token.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != ASCII.quote && $0 != ASCII.backslash
        }
        guard isSafe, !binding.token.isEmpty, ByteClass.app.containsAll(of: binding.app) else {
            fatalError("unsafe binding: \(binding)")
        }
        if binding.provider == .apns, !ByteClass.appleToken.containsAll(of: binding.token) {
            fatalError("unsafe Apple token: \(binding)")
        }
    }
}
