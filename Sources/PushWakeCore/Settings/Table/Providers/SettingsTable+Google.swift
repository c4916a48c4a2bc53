// SPDX-License-Identifier: MIT

extension SettingsTable {
    /// FCM, for Android phones.
    static let google: [SettingDescription] = [
        .init(
            .fcmKey, "fcm_key", .path, "", example: "/etc/pushwake/fcmkey.json",
            "Google's service-account JSON file, for every app without a file of its own. For more files: fcm_app1 to fcm_app1000 name a package or project, fcm_key1 to fcm_key1000 its file."
        ),
        .init(
            .fcmApp, "fcm_app", .text, "", example: "com.example.phone",
            "Package or project that fcm_key belongs to; needed only when no fcm_key is set and its file is fcmkey.PACKAGE.json."
        ),
        .init(
            .fcmKeyDirectory, "fcm_key_dir", .path, "", example: "/etc/pushwake/fcm",
            "Directory with fcmkey.json, for apps without a file of their own, and fcmkey.PACKAGE.json, for one package or project each. Empty: where fcm_key is."
        ),
        .init(
            .fcmURL, "fcm_url", .origin, "https://fcm.googleapis.com", example: "https://fcm.example.com",
            "Google's service."
        ),
    ]
}
