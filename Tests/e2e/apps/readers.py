# SPDX-License-Identifier: MIT
"""What apps and SDKs read in a push, and what they do to one that lacks it.

Each reader does what the app's public source does with the payload of a call (docs/apps.md names them), and gives what the
phone would show. A push that crashes the app, or for which iOS kills it, raises `Lost`.
"""
import uuid


class Lost(Exception):
    """The app crashes, or reports no call and is killed; the words say why."""


def callkit_uuid(text):
    """`UUID(uuidString:)`, of which CallKit needs one that is there."""
    try:
        if not isinstance(text, str) or len(text) != 36:
            raise ValueError(text)
        return str(uuid.UUID(text))
    except ValueError:
        raise Lost(f"CallKit takes no call under {text!r}") from None


def handle(text):
    """`CXHandle(type:value:)` does not take nil."""
    if not isinstance(text, str):
        raise Lost("CXHandle is nil")
    return text


def liblinphone_ios(payload):
    """ios-app-delegate.mm: the Call-ID in `aps` alone, or else a call of its own that no INVITE fits."""
    call_id = payload.get("aps", {}).get("call-id") or ""
    if not call_id:
        raise Lost("a ghost call, and the INVITE is a second one")
    return {"call-id": call_id}


def liblinphone_android(message):
    """FirebaseMessaging.java: without `call-id` no foreground service."""
    data = {**message.get("data", {}), **message.get("android", {}).get("data", {})}
    if not data.get("call-id"):
        raise Lost("no service is started")
    return {"call-id": data["call-id"]}


def mizutech_ios(payload):
    """The guide's sample: `ntype` of `data`, compared as text."""
    data = payload["data"]
    return {"name": data["nfrom"], "call-id": data["ncallid"], "is call": str(data["ntype"]) == "0"}


def mizutech_android(message):
    if "notification" in message:
        raise Lost("Android shows the notification, and does not start the app")
    data = message["data"]
    return {"name": data["nfrom"], "call-id": data["ncallid"], "is call": data["ntype"] == "0"}


def voip_push_rn(payload):
    """README of react-native-voip-push-notification: a nil key, or a call without UUID."""
    made = callkit_uuid(payload.get("uuid"))
    return {"uuid": made, "handle": handle(payload.get("handle")), "name": payload.get("callerName")}


def flutter_callkit_incoming(payload):
    """Its sample AppDelegate."""
    made = callkit_uuid(payload.get("id", ""))
    video = payload.get("isVideo") if isinstance(payload.get("isVideo"), bool) else False
    return {"uuid": made, "handle": payload.get("handle", ""), "name": payload.get("nameCaller", ""), "video": video}


def callkeep(payload):
    """CallKeep.m of flutter-webrtc: any `aps` is refused, and nothing reported."""
    if "aps" in payload:
        raise Lost("refused, and no call is reported")
    made = callkit_uuid(payload["uuid"]) if payload.get("uuid") is not None else None
    return {"uuid": made, "handle": handle(payload.get("caller_id")), "name": payload.get("caller_name"),
            "video": bool(payload.get("has_video"))}


def siprix(payload):
    aps = payload.get("aps", {})
    if "pushHint" not in aps:
        raise Lost("shows callerName, and finds no INVITE")
    return {"call-id": aps["pushHint"], "handle": aps["callerNumber"], "name": aps["callerName"], "video": aps["withVideo"]}


def connectycube(message):
    """ConnectycubeFCMReceiver.kt: `toInt()` throws."""
    data = message["data"]
    if data.get("signal_type") != "startCall" or "session_id" not in data:
        raise Lost("ignored")
    numbers = [int(data["call_type"]), int(data["caller_id"]), *map(int, data["call_opponents"].split(","))]
    assert all(-2 ** 31 <= number < 2 ** 31 for number in numbers)
    return {"uuid": callkit_uuid(data["session_id"]), "handle": data["caller_id"], "name": data["caller_name"]}


def our_own(payload):
    """The samples of docs/apps."""
    return {"uuid": callkit_uuid(payload["uuid"]), "call-id": payload["call-id"], "handle": payload["from-user"],
            "name": payload["display-name"], "is call": payload["event"] == "call"}


def takes_anything(payload):
    """It waits for the INVITE."""
    return {}
