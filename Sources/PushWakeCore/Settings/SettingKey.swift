// SPDX-License-Identifier: MIT

/// Every setting that exists. Kamailio modparams, pushwake.conf, `pushwake check` and
/// docs/settings.md all come from `SettingsTable`, which has one row per case, in this order.
public enum SettingKey: Int, CaseIterable, Sendable {
    case engineMode
    case enginePath
    case engineSocket
    case engineTimeout
    case logLevel
    case store
    case storePath
    case storeSync
    case persist
    case wakeTimeout
    case awakeFor
    case unregisterPolicy
    case send555
    case minExpires
    case payload
    case templateDirectory
    case messageTimeToLive
    case ignoreSame
    case cancelPush
    case fastAGIListen
    case fastAGIAllow
    case caFile
    case connectTimeout
    case requestTimeout
    case queueSize
    case maxFail
    case apnsKey
    case apnsKeyID
    case apnsTeamID
    case apnsCert
    case apnsCertPasswordFile
    case apnsEnvironment
    case apnsURL
    case apnsSandboxURL
    case apnsTopic
    case apnsConnections
    case fcmKey
    case fcmApp
    case fcmKeyDirectory
    case fcmURL
    case fcmConnections
    case vapidKey
    case vapidSubject
    case webPushHosts
    case webPushAllowLocal
    case acrobits
    case acrobitsURL
    case webhookURL
    case webhookMethod
    case webhookHeaders
    case webhookHeaderFile
    case webhookBodyType
    case webhookBody
    case webhookBodyFile
    case webhookSecretFile
    case webhookAnswers
    case webhookProviders
    case webhookConnections
    case webhookAllowLocal
}
