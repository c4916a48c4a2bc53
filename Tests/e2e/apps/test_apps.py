# SPDX-License-Identifier: MIT
"""Each app gets by itself the payload that it understands: from its REGISTER to what it does with the push."""
import json
import pathlib
import subprocess
import uuid

import pytest

from apps import readers
from phones import Push, apns_token, fcm_token, mpush_ios, rfc8599_apns
from servers import PUSHWAKE

HERE = pathlib.Path(__file__).parent
TEMPLATES = HERE.parents[2] / "examples" / "templates"
CALL_ID = "a84b4c76e66710@pc33.atlanta.com"
# The name space of docs/payloads.md.
CALL_UUID = str(uuid.uuid5(uuid.UUID("345198a0-fbeb-40ca-a578-6948d80653dd"), CALL_ID))
INVITE = (
    "INVITE sip:4711@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n"
    'From: "Anna Karenina" <sip:1234@example.org>;tag=1\r\nTo: <sip:4711@example.com>\r\n'
    f"Call-ID: {CALL_ID}\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n")
SHOWN = {"uuid": CALL_UUID, "call-id": CALL_ID, "handle": "1234", "name": "Anna Karenina", "video": False, "is call": True}

# The REGISTER of an app, the payload that it gets by itself, and readers of that app.
APPS = [
    ("lin-ios", "flexisip", [readers.liblinphone_ios]),
    ("lin-ios-voiponly", "flexisip", [readers.liblinphone_ios]),
    ("lin-ios-halfprid", "flexisip", [readers.liblinphone_ios]),
    ("lin-ios-debug", "flexisip", [readers.liblinphone_ios]),
    ("lin-legacy", "flexisip", [readers.liblinphone_ios]),
    ("lin-android", "flexisip", [readers.liblinphone_android]),
    ("mpush", "mizutech", [readers.mizutech_ios]),
    ("mpush-beside", "mizutech", [readers.mizutech_ios]),
    ("mpush-android", "mizutech", [readers.mizutech_android]),
    ("baresip", "mizutech", [readers.mizutech_android]),
    ("push-token", "mizutech", [readers.mizutech_android]),
    ("mpush-fcm-ios", "mizutech", [readers.mizutech_android]),
    ("ipjsua", "plain", [readers.takes_anything, readers.our_own]),
    ("react-native", "plain", [readers.voip_push_rn, readers.our_own]),
    ("dart-apns", "plain", [readers.flutter_callkit_incoming, readers.callkeep, readers.our_own]),
    ("siprix-rfc8599", "plain", [readers.our_own]),
    ("flutter-android", "plain", [readers.our_own]),
    ("firebase", "plain", [readers.our_own]),
    ("android", "plain", [readers.our_own]),
    ("jssip-web", "fixed", [readers.our_own]),
    ("jssip-web-quoted", "fixed", [readers.our_own]),
    ("sipjs", "fixed", [readers.our_own]),
    ("acrobits", "fixed", []),
    ("harmonyos", "fixed", []),
]


def explain(tmp_path, register, *options, request=INVITE, event=None):
    (tmp_path / "request.sip").write_bytes(request.encode())
    arguments = ["--event", event] if event else []
    done = subprocess.run(
        [PUSHWAKE, "explain", "--register", HERE / "registers" / f"{register}.sip", "--request",
         tmp_path / "request.sip", *arguments, *options],
        capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def set_to(**settings):
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def read(reader, body):
    shown = reader(body["message"] if "message" in body else body)
    assert shown == {name: SHOWN[name] for name in shown}


@pytest.mark.parametrize("register, payload, apps", APPS, ids=[name for name, _, _ in APPS])
def test_an_app_understands_the_push_that_it_gets_by_itself(tmp_path, register, payload, apps):
    answer, problems = explain(tmp_path, register)
    assert problems == ""
    request, = answer["requests"]
    assert request["payload"] == payload and request["payload_reason"], request
    for reader in apps:
        body = request["body"]
        if reader is readers.our_own and "message" in body:
            body = body["message"]["data"]
        read(reader, body)


@pytest.mark.parametrize("register, reader", [
    ("lin-ios", readers.liblinphone_ios), ("mpush", readers.mizutech_ios), ("dart-apns", readers.callkeep),
    ("react-native", readers.voip_push_rn), ("dart-apns", readers.flutter_callkit_incoming)])
def test_an_app_is_lost_with_the_payload_of_another(tmp_path, register, reader):
    other = {readers.mizutech_ios: "plain", readers.liblinphone_ios: "plain"}.get(reader, "flexisip")
    answer, _ = explain(tmp_path, register, *set_to(payload=other))
    assert [request["payload_reason"] for request in answer["requests"]] == ["payload says so"]
    with pytest.raises((readers.Lost, KeyError)):
        reader(answer["requests"][0]["body"])


@pytest.mark.parametrize("register, parameter", [("rnpjsip", "pn-voip-tok"), ("siprix", "X-Token")])
def test_an_app_that_says_nothing_usable_is_told_what_to_send(tmp_path, register, parameter):
    answer, problems = explain(tmp_path, register)
    assert answer["requests"] == []
    skipped, = answer["skipped"]
    assert parameter in skipped["reason"] and "pn-provider" in skipped["reason"]
    assert parameter in problems


def test_a_web_phone_of_mizutech_is_no_app_called_https(tmp_path):
    answer, _ = explain(tmp_path, "mpush-web", *set_to(webpush_hosts="fcm.googleapis.com"))
    request, = answer["requests"]
    assert (request["binding"]["provider"], request["binding"]["app"]) == ("webpush", "")
    assert request["url"] == "https://fcm.googleapis.com/fcm/send/abc:def"


def test_a_phone_with_one_half_of_its_tokens_is_called(tmp_path):
    answer, _ = explain(tmp_path, "lin-ios-halfprid")
    binding = answer["requests"][0]["binding"]
    assert (binding["service"], binding["app"], binding["token"]) == ("voip", "com.example.app", "a" * 64)


@pytest.mark.parametrize("setting, payload", [
    ("auto, apns.com.example.app=plain", "plain"), ("auto, apns=mizutech", "mizutech"), ("plain", "plain"),
    ("auto, fcm=plain", "flexisip")])
def test_what_is_set_wins_per_app_as_well(tmp_path, setting, payload):
    answer, _ = explain(tmp_path, "lin-ios-voiponly", *set_to(payload=setting))
    assert [request["payload"] for request in answer["requests"]] == [payload]


# What Linphone's extension for notifications suppresses, and what it has words for.
@pytest.mark.parametrize("event, is_changed", [
    ("chat", 1), ("group-chat", 1), ("voicemail", 1), ("missed", 0), ("custom", 0), ("refer", 0)])
def test_linphones_extension_is_asked_for_messages_alone(tmp_path, event, is_changed):
    answer, _ = explain(tmp_path, "lin-ios", event=event)
    body = answer["requests"][0]["body"]
    assert body["aps"]["mutable-content"] == is_changed
    if event == "voicemail":
        assert body["aps"]["alert"]["loc-key"] == "MWI_NOTIFY_STR"


def test_a_linphone_rings_with_its_own_sound(tmp_path):
    answer, _ = explain(tmp_path, "lin-ios", *set_to(sound_call="bell.caf"))
    assert answer["requests"][0]["body"]["aps"]["sound"] == "notes_of_the_optimistic.caf"
    answer, _ = explain(tmp_path, "lin-ios-voiponly", *set_to(sound_call="bell.caf"))
    assert answer["requests"][0]["body"]["aps"]["sound"] == "bell.caf"


@pytest.mark.parametrize("event", ["call", "chat", "cancel", "refresh", "missed"])
@pytest.mark.parametrize("payload", ["auto", "plain", "flexisip", "mizutech"])
def test_an_iphone_behind_google_gets_no_voip_push(tmp_path, event, payload):
    answer, _ = explain(tmp_path, "mpush-fcm-ios", *set_to(payload=payload), event=event)
    headers = answer["requests"][0]["body"]["message"]["apns"]["headers"]
    assert headers["apns-push-type"] == ("background" if event == "refresh" else "alert")
    assert "apns-topic" not in headers


# What each sample needs, by name and type.
SCHEMAS = {
    "react-native-callkeep": ("react-native", "apns-voip", readers.voip_push_rn,
                              {"uuid": str, "callerName": str, "handle": str, "hasVideo": bool}),
    "flutter_callkit_incoming": ("dart-apns", "apns-voip", readers.flutter_callkit_incoming,
                                 {"id": str, "nameCaller": str, "handle": str, "isVideo": bool}),
    "callkeep": ("dart-apns", "apns-voip", readers.callkeep,
                 {"uuid": str, "caller_id": str, "caller_name": str, "caller_id_type": str, "has_video": bool}),
    "siprix": ("siprix-rfc8599", "apns-voip", readers.siprix, {"aps": dict}),
    "connectycube": ("flutter-android", "fcm", readers.connectycube, {"message": dict}),
}


@pytest.mark.parametrize("template", SCHEMAS)
def test_an_example_template_has_what_its_sample_reads(tmp_path, template):
    register, file, reader, schema = SCHEMAS[template]
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / f"{file}.json").write_text((TEMPLATES / f"{template}.json").read_text())
    answer, problems = explain(tmp_path, register, *set_to(template_dir=tmp_path / "templates"))
    assert problems == ""
    body = answer["requests"][0]["body"]
    assert {name: type(body.get(name)) for name in schema} == schema
    read(reader, body)


def test_every_example_template_is_tested():
    assert {path.stem for path in TEMPLATES.glob("*.json")} == set(SCHEMAS)


def test_phones_of_three_kinds_side_by_side_get_each_their_own(kamailio, actors, simulator):
    linphone = Push("Linphone", apns_token(), contact=";pn-silent=1;pn-timeout=0;pn-provider=apns"
                    ";pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@TOKEN@:voip", sip_pns="apns")
    firebase = Push("firebase", fcm_token(), contact=";pn-provider=firebase;pn-param=pushwake-simulator;pn-prid=@TOKEN@",
                    sip_pns="firebase")
    kinds = {"flexisip": linphone, "mizutech": mpush_ios(), "plain": rfc8599_apns(), "plain-fcm": firebase}
    for name, push in kinds.items():
        caps = actors.phone(kamailio, f"kind-{name}", push).register().headers("Feature-Caps")
        assert bool(caps) == bool(push.sip_pns) and (not caps or f'+sip.pns="{push.sip_pns}"' in caps[0])
        actors.call(kamailio, f"kind-{name}", "call_cancelled", pause=200).finish()
        body = simulator.wait_push(push.token)["body"]
        assert {"flexisip": "pn_ttl", "mizutech": "data", "plain": "uuid", "plain-fcm": "message"}[name] in body
        shown = kamailio.rpc("pushwake.show", f"kind-{name}")
        assert f"payload: {name.split('-')[0]}" in " ".join(shown.split()), shown
