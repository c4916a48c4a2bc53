// SPDX-License-Identifier: MIT

internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeSystem
internal import PushWakeTransport

/// Huawei's service-account file.
enum HarmonyOSKeyFile {
    static func read(_ path: String) throws(KeyFileError) -> (HarmonyOSAccount, Signer) {
        let remedy = "give the service-account JSON from Huawei's developer console, readable for the PBX"
        let document = try KeyFile.json(path, remedy: remedy)
        var account: HarmonyOSAccount
        do throws(HarmonyOSAccount.Problem) {
            account = try HarmonyOSAccount(document)
        } catch {
            throw KeyFileError(message: "\(path): \(error.member) is missing or cannot be used; \(remedy)")
        }
        var text = Array(account.takePrivateKey().utf8)
        defer { FileContent.wipe(&text) }
        do throws(TLSError) {
            let signer = try Signer(pssPEM: text)
            return (account, signer)
        } catch {
            let why = KeyFile.mistake(in: text) ?? error.message
            throw KeyFileError(message: "\(path): private_key cannot be used (\(why)); \(remedy)")
        }
    }
}

extension SettingsInspection {
    /// Huawei's service account.
    mutating func inspectHarmonyOS() {
        let path = settings.text(.harmonyOSKey)
        if path.isEmpty, settings.isChanged(.harmonyOSURL) {
            add(
                .error, .harmonyOSKey,
                "harmonyos_url is set but no key; set harmonyos_key to Huawei's service-account file")
        }
        guard !path.isEmpty, depth >= .keys else { return }
        do throws(KeyFileError) {
            _ = try HarmonyOSKeyFile.read(path)
        } catch {
            add(.warning, .harmonyOSKey, error.message)
        }
    }
}
