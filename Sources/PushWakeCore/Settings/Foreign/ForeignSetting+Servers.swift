// SPDX-License-Identifier: MIT

extension ForeignSetting {
    /// What Mizutech's guide says of several SIP servers ("Multiple SIP servers"), and what turns its softswitch into a
    /// gateway ("Convert a VoIP server to a SIP-Push gateway").
    static let mizutechServers: [Self] = [
        .mizutech("allowupperserverselection", .upperServers, "1: list the servers that phones may name"),
        .mizutech("allowupperseverselction", .upperServers, "a misspelling in the same document"),
        .mizutech("routingforregister", nil, "Kamailio's script routes REGISTER too, by dispatcher (docs/gateway.md)"),
        .mizutech("upperserverlookup", nil, "the script looks up a user's server and sets $du (docs/gateway.md)"),
        .mizutech(
            "fwdregistrations_", .upperServers,
            "the address of the SIP server; where there is one alone, the script has it (docs/gateway.md)"
        ),
        .mizutech("fwdregistrations", .upperServers, "a phone is registered at the server that it names"),
        .mizutech("forwardauthentications", nil, "the gateway always passes a server's challenge on to the phone"),
        .mizutech("forwardauthpassword", nil, "the phone's answer to a challenge goes to its server as it came"),
        .mizutech("fwdunknownheaders", nil, "Kamailio passes on all headers that its script does not remove"),
        .mizutech("autocreaterereguser", nil, "a gateway has no users to create: a phone that may register is one"),
        .mizutech("userautoaddwithowner", nil, noUsers),
        .mizutech("autonewusersencrypt", .secretKeyFile, "HA1 is kept encrypted, with the key of this file"),
        .mizutech("maxlinefornewunknownparents", nil, noUsers),
        .mizutech("maxlineforautotunnelusers", nil, noUsers),
        .mizutech("MINUSERNAMELEN", nil, noUsers),
        .mizutech("minpwdlength", nil, noUsers),
        .mizutech("enforcestrongauth", nil, serverDecides),
        .mizutech("strongdigestauth", nil, serverDecides),
        .mizutech("fastauth", nil, serverDecides),
        .mizutech("allowanonymouscaller", nil, serverDecides),
        .mizutech("hasbilling", nil, serverDecides),
        .mizutech("blocksatellitecalls", nil, serverDecides),
        .mizutech("blockpremiumnumbers", nil, serverDecides),
        .mizutech("blocknotbilledcalls", nil, serverDecides),
        .mizutech("normalizedef", nil, serverDecides),
        .mizutech("haswebrtc", nil, ofKamailio),
        .mizutech("haswebsocket", nil, ofKamailio),
        .mizutech("hasturn", nil, ofKamailio),
        .mizutech("defroutertp", nil, ofKamailio),
        .mizutech("hasflash", nil, noSuchPart),
        .mizutech("fs_use", nil, noSuchPart),
        .mizutech("fs_pbx", nil, noSuchPart),
        .mizutech("enableconferencerooms", nil, noSuchPart),
    ]

    private static let noUsers: StaticString = "a gateway keeps no users of its own; its SIP server does"
    private static let serverDecides: StaticString =
        "who may call and register, and what it costs, the SIP server decides"
    private static let ofKamailio: StaticString =
        "Kamailio's own modules do it: websocket, rtpengine (docs/gateway.md)"
    private static let noSuchPart: StaticString = "a part of Mizutech's softswitch that a gateway does not have"
}
