// SPDX-License-Identifier: MIT

/// The payloads that come with PushWake.
public enum BuiltInPayloads {
    /// Whose apps the payload is made for.
    public enum Family: String, Sendable, CaseIterable {
        /// Our own: small, flat, every value under a name that says what it is.
        case plain
        /// `fcmmessage.txt` and `pushkitmessage.txt`, with the defects of the printed text mended:
        /// one comma too many, and sections that had slipped out of `message`.
        case mizutech
        /// What Flexisip sends, key for key.
        case flexisip
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
            case .voip: "{\"aps\":{},\(plainFacts)}"
            case .alert:
                """
                {"aps":{"alert":{"title":"<title>","body":"<body>"},"sound":"<sound>","mutable-content":1},\(plainFacts)}
                """
            case .background: "{\"aps\":{\"content-available\":1},\(plainFacts)}"
            }
        case (.plain, .fcm): platform == .ios && type == .background ? plainFCMSilent : plainFCM
        default: "{\(plainFacts),\"title\":\"<title>\",\"body\":\"<body>\",\"text\":\"<text>\"}"
        }
    }

    private static let plainFacts = """
        "event":"<event>","call-id":"<call-id>","from-uri":"<from-uri>","from-user":"<from-user>",\
        "display-name":"<from-name>","to-uri":"<to-uri>","sent-at":<sent-at>,"ttl":<ttl>
        """

    private static let plainFCM = """
        {"message":{
          "token":"<token>",
          "data":{
            "event":"<event>","call-id":"<call-id>","from-uri":"<from-uri>","from-user":"<from-user>",
            "display-name":"<from-name>","to-uri":"<to-uri>","title":"<title>","body":"<body>","text":"<text>",
            "sent-at":"<sent-at>","ttl":"<ttl>"
          },
          "android":{"priority":"<priority>","ttl":"<ttl>s"},
          "apns":{
            "headers":{"apns-priority":"10","apns-push-type":"alert"},
            "payload":{"aps":{
              "alert":{"title":"<title>","body":"<body>"},"sound":"<sound>","mutable-content":1
            }}
          }
        }}
        """

    private static let plainFCMSilent = """
        {"message":{
          "token":"<token>",
          "data":{
            "event":"<event>","call-id":"<call-id>","from-uri":"<from-uri>","from-user":"<from-user>",
            "display-name":"<from-name>","to-uri":"<to-uri>","sent-at":"<sent-at>","ttl":"<ttl>"
          },
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
            "content-available": 1, "sound": "SOUND", "badge": 1
          },
          "data": {
            "ntype": TYPE, "nfromusername": "FROMUSERNAME", "nfrom": "FROM", "nmsg": "MSG",
            "ncallid": "CALLID", "ntouser": "TOUSERNAME"
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
              "ncallid": "CALLID", "ntouser": "TOUSERNAME"
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
                "apns-priority": "APRIORITY", "apns-expiration": "TTLNUM",
                "apns-push-type": "PUSHTYPE", "apns-topic": "PACKAGE.voip"
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
            "sound": "", "loc-key": "<alert-msg-id>", "loc-args": ["<from>"],
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
            "sound": "<alert-sound>", "mutable-content": 1, "badge": <badge-boolean>
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
              "headers": { "apns-priority": "<apns-priority>" },
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
