# SPDX-License-Identifier: MIT
"""From a REGISTER or `pushwake send` to FlexiAPI, Huawei, and what Apple, Google and browsers have had since 2026."""

import json
import time
import uuid

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from phones import Push, apns_token, called, rfc8599_apns, rfc8599_fcm
from servers import Kamailio
from test_webpush import decoded, decrypted, files, webpush


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator, settings={
        "vapid_key": files(simulator) / "vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1", "webpush_navigate": "https://phone.example.com/",
        "flexiapi_url": f"{simulator.url}/flexiapi", "flexiapi_key_file": files(simulator) / "flexiapi.key",
        "flexiapi_apps": "apns.org.linphone.phone",
        "harmonyos_key": files(simulator) / "harmonyos.json", "harmonyos_url": simulator.url})
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


def stale(facts):
    """When the push was sent, and how long it is of use."""
    sent, end = int(facts["sent-at"]), int(facts["expires-at"])
    assert abs(sent - time.time()) < 30
    return end - sent


def test_a_call_says_when_it_is_stale(kamailio, actors, simulator):
    apple, google = rfc8599_apns(), rfc8599_fcm()
    called(kamailio, actors, "apple", apple)
    called(kamailio, actors, "google", google)
    assert 2 <= stale(simulator.wait_push(apple.token)["body"]) <= 4
    message = simulator.wait_push(google.token)["body"]["message"]
    assert 2 <= stale(message["data"]) <= 4


def test_the_end_of_a_call_has_the_time_of_the_call(kamailio, actors, simulator):
    push = rfc8599_fcm()
    actors.phone(kamailio, "ended", push).register()
    caller = actors.call(kamailio, "ended", "call_cancelled", pause=1500)
    caller.finish()
    simulator.wait_event(push.token, "cancel")
    first, last = (r["body"]["message"]["data"] for r in simulator.pushes(push.token)[:2])
    assert (first["event"], last["event"]) == ("call", "cancel")
    assert first["sent-at"] == last["sent-at"] and first["call-id"] == last["call-id"]


ANDROID_V2 = """{"message": {"token": "<token>", "data": {"event": "<event>", "call-id": "<call-id>"}, "android_v2": {
  "ttl": "<ttl>s", "bandwidth_constrained_ok": true, "remote_notification": {
    "mutable_content": true, "use_as_v1_data_message": true, "notification": {"title": "<title>", "body": "<body>"}}}}}
"""


def test_google_gets_android_v2_from_a_template_of_ones_own(make_kamailio, actors, simulator, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/fcm.json").write_text(ANDROID_V2)
    kamailio = make_kamailio(settings={"template_dir": tmp_path / "templates"}).start().wait_engine()
    push = rfc8599_fcm()
    called(kamailio, actors, "second", push)
    sent = simulator.wait_push(push.token)
    assert sent["status"] == 200
    android = sent["body"]["message"]["android_v2"]
    assert "android" not in sent["body"]["message"] and android["bandwidth_constrained_ok"] is True
    assert android["remote_notification"]["use_as_v1_data_message"] is True


def test_an_iphone_may_name_the_caller_itself(kamailio, actors, simulator):
    push = Push("remote", apns_token(), contact=";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone;pn-prid=@TOKEN@")
    actors.phone(kamailio, "named", push).register()
    kamailio.rpc("pushwake.send", "chat", "named")
    assert simulator.wait_push(push.token)["body"]["aps"]["mutable-content"] == 1
    kamailio.rpc("pushwake.send", "cancel", "named")
    assert simulator.wait_push(push.token, after=1)["body"]["aps"]["mutable-content"] == 0


def test_a_browser_shows_a_missed_call_by_itself(kamailio, actors, simulator):
    subscription = json.loads((files(simulator) / "subscription.json").read_text())
    push = webpush(simulator, subscription)
    actors.phone(kamailio, "shown", push).register()
    for number, event in enumerate(["missed", "call"]):
        kamailio.rpc("pushwake.send", event, "shown")
        sent = simulator.wait_push(push.token, after=number)
        assert sent["status"] == 201
        payload = decrypted(decoded(sent["body"][len("base64:"):]), subscription)
        if event == "call":
            assert "web_push" not in payload and sent["headers"]["content-type"] == "application/octet-stream"
        else:
            assert sent["headers"]["content-type"] == "application/notification+json"
            assert payload["web_push"] == 8030 and payload["event"] == "missed"
            assert payload["notification"]["title"].startswith("Missed call")
            assert payload["notification"]["navigate"] == "https://phone.example.com/"


def test_the_linphone_of_the_stores_is_woken_by_its_vendor(kamailio, actors, simulator):
    push = Push("Linphone", apns_token(), sip_pns="apns",
                contact=";pn-provider=apns;pn-param=ABCD1234.org.linphone.phone.voip;pn-prid=@TOKEN@")
    caps = called(kamailio, actors, "linphone", push).headers("Feature-Caps")
    assert caps == ['*;+sip.pns="apns"']
    sent = simulator.wait_push(push.token)
    assert sent["provider"] == "flexiapi" and sent["status"] == 200
    assert sent["headers"]["x-api-key"] == (files(simulator) / "flexiapi.key").read_text().strip()
    body = sent["body"]
    assert body.pop("call_id")
    assert body == {"pn_provider": "apns", "pn_param": "ABCD1234.org.linphone.phone.voip", "pn_prid": push.token,
                    "type": "call"}
    assert kamailio.wait_log("RESULT provider=apns outcome=accepted aor=linphone")


def test_a_phone_with_harmonyos_is_woken(kamailio, actors, simulator):
    push = Push("HarmonyOS", uuid.uuid4().hex, contact=";pn-provider=harmonyos;pn-prid=@TOKEN@", sip_pns="harmonyos")
    caps = called(kamailio, actors, "harmony", push).headers("Feature-Caps")
    assert caps == ['*;+sip.pns="harmonyos"']
    sent = simulator.wait_push(push.token)
    account = json.loads((files(simulator) / "harmonyos.json").read_text())
    assert sent["provider"] == "harmonyos" and sent["path"] == f"/v3/{account['project_id']}/messages:send"
    assert sent["headers"]["push-type"] == "10"
    assert 2 <= stale(json.loads(sent["body"]["payload"]["extraData"])) <= 4

    head, claims, signature = sent["headers"]["authorization"].removeprefix("Bearer ").split(".")
    key = serialization.load_pem_private_key(account["private_key"].encode(), None).public_key()
    key.verify(decoded(signature), f"{head}.{claims}".encode(),
               padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256().digest_size), hashes.SHA256())
    assert json.loads(decoded(head))["alg"] == "PS256"
    assert json.loads(decoded(claims))["iss"] == account["sub_account"]


def test_a_dead_token_of_huaweis_is_forgotten(kamailio, actors):
    push = Push("HarmonyOS", f"unregistered{uuid.uuid4().hex}", contact=";pn-provider=harmonyos;pn-prid=@TOKEN@")
    actors.phone(kamailio, "gone", push).register()
    caller = actors.call(kamailio, "gone", "call")
    kamailio.wait_log("RESULT provider=harmonyos outcome=token-gone aor=gone")
    caller.stop()
