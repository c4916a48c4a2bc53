// SPDX-License-Identifier: MIT

/// The payloads that come with PushWake.
public enum BuiltInPayloads {
    /// Whose apps the payload is made for.
    public enum Family: String, Sendable, CaseIterable {
        /// Our own: flat, every value under a name that says what it is. A call has the names of the usual samples for
        /// React Native and Flutter too: an app that misses one crashes, or reports no call and is killed by iOS.
        case plain
        /// `fcmmessage.txt` and `pushkitmessage.txt`, with the defects of the printed text mended:
        /// one comma too many, and sections that had slipped out of `message`. `sent-at` and `expires-at` are ours.
        /// For an iPhone behind FCM the expiration is the time that Apple asks for, not a number of seconds, and the
        /// topic is left to Google, who knows that of the app: PACKAGE is a project there.
        case mizutech
        /// What Flexisip sends, key for key; FCM's data has our `event` too.
        case flexisip

        /// Number among the cases.
        var place: Int {
            switch self {
            case .plain: 0
            case .mizutech: 1
            case .flexisip: 2
            }
        }
    }

    /// The template text for a provider. It depends on the push type where Apple shows it, and on the kind of phone
    /// behind FCM.
    public static func source(
        _ family: Family, _ provider: Provider, _ type: APNsPushType, _ platform: FCMPlatform = .android
    ) -> String {
        switch (family, provider) {
        case (.mizutech, .apns): mizutechAPNs
        case (.mizutech, .fcm): mizutechFCM
        case (.flexisip, .apns):
            switch type {
            case .voip: flexisipVoIP
            case .alert: flexisipAlert
            case .background: flexisipBackground
            }
        case (.flexisip, .fcm): platform == .ios ? flexisipFCMForApple : flexisipFCM
        case (.plain, .apns):
            switch type {
            case .voip: "{\(plainFacts),\(plainTimes),\(callNames),\(callFlags)}"
            case .alert:
                """
                {"aps":{"alert":{"title":"<title>","body":"<body>"},"sound":"<sound>",\
                "mutable-content":<mutable-content>},\(plainFacts),\(plainTimes)}
                """
            case .background: "{\"aps\":{\"content-available\":1},\(plainFacts),\(plainTimes)}"
            }
        case (.plain, .fcm): platform == .ios && type == .background ? plainFCMSilent : plainFCM
        default: "{\(plainFacts),\(plainTimes),\"title\":\"<title>\",\"body\":\"<body>\",\"text\":\"<text>\"}"
        }
    }

    /// A message that the browser shows by itself (W3C Push API, "declarative push message"; WebKit, "Meet Declarative
    /// Web Push"). A service worker may change it (`mutable`), with what is in `data`; one that knows nothing of such
    /// messages finds everything where it was.
    static let declarative = """
        {"web_push":8030,"notification":{"title":"<title>","body":"<body>","navigate":"<navigate>","tag":"<call-id>",\
        "data":{\(plainFacts),\(plainTimes)}},"mutable":true,\(plainFacts),\(plainTimes),\
        "title":"<title>","body":"<body>","text":"<text>"}
        """

    private static let plainFacts = """
        "event":"<event>","call-id":"<call-id>","uuid":"<call-uuid>","from-uri":"<from-uri>",\
        "from-user":"<from-user>","display-name":"<from-name>","to-uri":"<to-uri>"
        """

    private static let plainTimes = #""sent-at":<sent-at>,"expires-at":<expires-at>,"ttl":<ttl>"#

    /// In FCM's `data` all values are texts.
    private static let plainTimesAsText = #""sent-at":"<sent-at>","expires-at":"<expires-at>","ttl":"<ttl>""#

    /// What the samples of other projects read of a call: `handle` and `callerName`
    /// (react-native-voip-push-notification), `id`, `nameCaller` and `isVideo` (flutter_callkit_incoming), `caller_…` and
    /// `has_video` (flutter-webrtc's callkeep, which takes no push with `aps` in it).
    private static let callNames = """
        "id":"<call-uuid>","handle":"<from-user>","callerName":"<caller>","nameCaller":"<caller>",\
        "caller_id":"<from-user>","caller_name":"<caller>","caller_id_type":"number"
        """

    private static let callFlags = #""has_video":<video>,"isVideo":<video>"#
    private static let callFlagsAsText = #""has_video":"<video>","isVideo":"<video>""#

    private static let plainFCM = """
        {"message":{
          "token":"<token>",
          "data":{
            \(plainFacts),"title":"<title>","body":"<body>","text":"<text>",\(plainTimesAsText),
            \(callNames),\(callFlagsAsText)
          },
          "android":{"priority":"<priority>","ttl":"<ttl>s"},
          "apns":{
            "headers":{"apns-priority":"10","apns-push-type":"alert"},
            "payload":{"aps":{
              "alert":{"title":"<title>","body":"<body>"},"sound":"<sound>","mutable-content":<mutable-content>
            }}
          }
        }}
        """

    private static let plainFCMSilent = """
        {"message":{
          "token":"<token>",
          "data":{\(plainFacts),\(plainTimesAsText)},
          "apns":{
            "headers":{"apns-priority":"5","apns-push-type":"background"},
            "payload":{"aps":{"content-available":1}}
          }
        }}
        """

    private static let mizutechAPNs = """
        {
          "headers": {
            "apns-priority": APRIORITY, "apns-expiration": TTLNUM,
            "apns-push-type": "PUSHTYPE", "apns-topic": "PACKAGE.voip"
          },
          "aps": {
            "alert": { "title": "TITLE", "body": "BODY" },
            "content-available": 1, "sound": "SOUND", "badge": <badge-boolean>
          },
          "data": {
            "ntype": TYPE, "nfromusername": "FROMUSERNAME", "nfrom": "FROM", "nmsg": "MSG",
            "ncallid": "CALLID", "ntouser": "TOUSERNAME", "sent-at": <sent-at>, "expires-at": <expires-at>
          }
        }
        """

    private static let mizutechFCM = """
        {
          "message": {
            "token": "TOKEN",
            "notification": { "title": "TITLE", "body": "BODY" },
            "data": {
              "ntype": "TYPE", "nfromusername": "FROMUSERNAME", "nfrom": "FROM", "nmsg": "MSG",
              "ncallid": "CALLID", "ntouser": "TOUSERNAME", "sent-at": "<sent-at>", "expires-at": "<expires-at>"
            },
            "android": {
              "priority": "PRIORITY",
              "ttl": "TTLNUMs",
              "notification": {
                "notification_priority": "NPRIORITY", "sound": "SOUND", "visibility": "PUBLIC"
              }
            },
            "webpush": {
              "headers": { "ttl": "TTLNUM", "Urgency": "PRIORITY" },
              "fcm_options": { "link": "" }
            },
            "apns": {
              "headers": {
                "apns-priority": "APRIORITY", "apns-expiration": "<expires-at>", "apns-push-type": "PUSHTYPE"
              },
              "payload": {
                "aps": {
                  "alert": { "title": "TITLE", "body": "BODY" }, "content-available": 1, "sound": "SOUND"
                }
              }
            }
          }
        }
        """

    private static let flexisipVoIP = """
        {
          "aps": {
            "sound": "<call-sound>", "loc-key": "<alert-msg-id>", "loc-args": ["<from>"],
            "call-id": "<call-id>", "uuid": "<uid>", "send-time": "<date>"
          },
          "from-uri": "<from-uri>", "display-name": "<from-name>", "pn_ttl": <ttl>, "customPayload": {}
        }
        """

    private static let flexisipBackground = """
        {
          "aps": {
            "badge": 0, "content-available": 1, "loc-key": "<alert-msg-id>", "loc-args": ["<from>"],
            "call-id": "<call-id>", "uuid": "<uid>", "send-time": "<date>"
          },
          "from-uri": "<from-uri>", "display-name": "<from-name>", "pn_ttl": <ttl>, "customPayload": {}
        }
        """

    private static let flexisipAlert = """
        {
          "aps": {
            "alert": { "loc-key": "<alert-msg-id>", "loc-args": ["<from>"] },
            "sound": "<alert-sound>", "mutable-content": <mutable-notice>, "badge": <badge-boolean>
          },
          "from-uri": "<from-uri>", "display-name": "<from-name>", "call-id": "<call-id>", "pn_ttl": <ttl>,
          "uuid": "<uid>", "send-time": "<date>", "chat-room-addr": "<chatroom-addr>", "customPayload": {}
        }
        """

    /// An iPhone behind FCM: Flexisip has none. The names are those of its Android data, which iOS would not see inside
    /// of the Android section.
    private static let flexisipFCMForApple = """
        {
          "message": {
            "token": "<device-token>",
            "data": {
              "uuid": "<uid>", "from-uri": "<from-uri>", "display-name": "<from-name>", "call-id": "<call-id>",
              "sip-from": "<from>", "loc-key": "<alert-msg-id>", "loc-args": "<from>", "send-time": "<date>",
              "custom-payload": "{}", "event": "<event>"
            },
            "apns": {
              "headers": { "apns-priority": "<apns-priority>", "apns-push-type": "<push-type>" },
              "payload": {
                "aps": {
                  "alert": { "loc-key": "<alert-msg-id>", "loc-args": ["<from>"] },
                  "sound": "<alert-sound>", "badge": <badge-boolean>, "content-available": 1
                }
              }
            }
          }
        }
        """

    /// `event` is ours: without it an Android app cannot tell a call from a message.
    private static let flexisipFCM = """
        {
          "message": {
            "token": "<device-token>",
            "android": {
              "priority": "high",
              "ttl": "<ttl>s",
              "data": {
                "uuid": "<uid>", "from-uri": "<from-uri>", "form-uri": "<from-uri>", "display-name": "<from-name>",
                "call-id": "<call-id>", "sip-from": "<from>", "loc-key": "", "loc-args": "<from>",
                "send-time": "<date>", "custom-payload": "{}", "event": "<event>"
              }
            }
          }
        }
        """
}
