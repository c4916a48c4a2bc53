// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Push services of single vendors beside Apple, Google and Acrobits.
    static func furtherRow(_ key: SettingKey) -> SettingDescription? {
        switch key {
        case .flexiAPIURL:
            .init(
                "flexiapi_url", .text, "",
                "https URL of a FlexiAPI (Linphone's account manager) that pushes for flexiapi_apps, up to where /api follows, such as https://subscribe.example.org/flexiapi. Empty: none."
            )
        case .flexiAPIKeyFile:
            .init(
                "flexiapi_key_file", .path, "",
                "File whose first line is the API key (x-api-key) for flexiapi_url.")
        case .flexiAPIApps:
            .init(
                "flexiapi_apps", .text, "",
                "Apps that are woken through flexiapi_url, comma separated: apns.org.linphone.phone, fcm.929724111839; apns or fcm alone for all of them."
            )
        case .harmonyOSKey:
            .init(
                "harmonyos_key", .path, "",
                "Huawei's service-account JSON file, for phones with HarmonyOS 5 and later (pn-provider=harmonyos). Empty: none."
            )
        case .harmonyOSURL:
            .init("harmonyos_url", .origin, "https://push-api.cloud.huawei.com", "Huawei's Push Kit.")
        default: nil
        }
    }
}
