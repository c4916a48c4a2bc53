// SPDX-License-Identifier: MIT

internal import PushWakeCore
internal import PushWakeStore
internal import PushWakeTransport

/// Requests within a dialog name the device that they are for by its PURR (RFC 8599, 6).
extension EngineDesk {
    /// The device that was told a PURR.
    struct DialogDevice: Equatable {
        /// Under which its user is registered, and its requests are held.
        let aor: String
        /// `+sip.instance` without quotes; empty when the device sent none.
        let instance: String
        /// Its own, oldest REGISTER first; never empty.
        let bindings: [Binding]
    }

    /// The device that a request's `pn-purr` names. Nil when it names none: the text is no PURR, was altered or guessed, is
    /// too old, its device has gone, or `purr` is off.
    func device(ofPURR text: String) throws(StoreError) -> DialogDevice? {
        guard settings.flag(.purr), let purr = PURR(text) else { return nil }
        let bindings = try store.bindings(ofPURR: purr, now: SystemClock.wallSeconds())
        guard let newest = bindings.last else { return nil }
        let instance = bindings.lazy.map(\.instance).first { !$0.isEmpty } ?? ""
        return DialogDevice(aor: newest.aor, instance: instance, bindings: bindings)
    }

    /// Says whose device a PURR names; nobody's when it names none.
    func purrUser(_ message: MessageReader, _ peer: EnginePeer) {
        do throws(StoreError) {
            let device = try device(ofPURR: EngineClient.text(.purr, in: message))
            reply(to: message, peer) { writer in
                if let device { writer.put(.aor, device.aor) }
            }
        } catch {
            fail(message, peer, "the store cannot be read: \(error)")
        }
    }

    /// What the 200 tells of each push service: one PURR, also where a phone registers several contacts with it. A phone
    /// that speaks no RFC 8599 is told none.
    func purrs(of registration: Registration, _ stored: [Binding], now: Int64) -> [Provider: PURR] {
        guard settings.flag(.purr) else { return [:] }
        var purrs: [Provider: PURR] = [:]
        for contact in registration.contacts where !contact.providerName.isEmpty {
            guard let binding = stored.first(where: { $0.contact == contact.uri }), purrs[binding.provider] == nil
            else {
                continue
            }
            do throws(StoreError) {
                purrs[binding.provider] = try store.purr(of: binding, now: now) {
                    // Nobody may guess one: this asks the system, once a day for each phone.
                    var system = SystemRandomNumberGenerator()
                    return PURR(using: &system)
                }
            } catch {
                // The phone can be woken for everything else.
                log(.warning, "no PURR for \(EngineLog.names(registration.aor, registration.callID)): \(error)")
            }
        }
        return purrs
    }
}

extension PURRLimits {
    /// Takes what the operator set.
    init(_ settings: Settings) {
        self.init(rotation: settings.integer(.purrRotate), lifetime: settings.integer(.purrKeep) * 86_400)
    }
}
