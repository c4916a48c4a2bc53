// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// Push services of single vendors.
    static let otherServices: [SettingDescription] = [
        .init(
            .acrobits, "acrobits", .flag, "0",
            "1: push to Acrobits' apps through Acrobits' mediator."
        ),
        .init(
            .acrobitsURL, "acrobits_url", .url, "https://pnm.cloudsoftphone.com/pnm2/send",
            example: "https://pnm.example.com/pnm2/send",
            "Acrobits' mediator."
        ),
        .init(
            .flexiAPIURL, "flexiapi_url", .text, "", example: "https://subscribe.example.org/flexiapi",
            "https URL of a FlexiAPI (Linphone's account manager) that pushes for flexiapi_apps, up to where /api follows, such as https://subscribe.example.org/flexiapi. Empty: none."
        ),
        .init(
            .flexiAPIKeyFile, "flexiapi_key_file", .path, "", example: "/etc/pushwake/flexiapi.key",
            "File whose first line is the API key (x-api-key) for flexiapi_url."
        ),
        .init(
            .flexiAPIApps, "flexiapi_apps", .text, "", example: "apns.org.linphone.phone",
            "Apps that are woken through flexiapi_url, comma separated: apns.org.linphone.phone, fcm.929724111839; apns or fcm alone for all of them."
        ),
        .init(
            .harmonyOSKey, "harmonyos_key", .path, "", example: "/etc/pushwake/harmonyos.json",
            "Huawei's service-account JSON file, for phones with HarmonyOS 5 and later (pn-provider=harmonyos). Empty: none."
        ),
        .init(
            .harmonyOSURL, "harmonyos_url", .origin, "https://push-api.cloud.huawei.com",
            example: "https://push.example.com",
            "Huawei's Push Kit."
        ),
    ]
}
