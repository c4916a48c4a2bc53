# SPDX-License-Identifier: MIT
"""A webhook for phones of other push services, and several Google projects, from REGISTER to call."""

import hashlib
import hmac
import json
import subprocess
import time
import uuid

import pytest

from phones import Push, called, fcm_token, rfc8599_apns
from servers import PUSHWAKE, Kamailio

SECOND = "pushwake-simulator-2"


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    files = simulator.directory / "files"
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator, settings={
        "webhook_url": f"{simulator.url}/webhook/$token", "webhook_secret_file": files / "webhook.secret",
        "webhook_headers": "X-Caller: FROM", "webhook_providers": "huawei, *",
        "fcm_app1": "com.example.one", "fcm_key1": files / "fcm" / "fcmkey.com.example.second.json",
        "fcm_app1000": "com.example.broken", "fcm_key1000": "/nonexistent/key.json",
        "acrobits": 1, "acrobits_url": f"{simulator.url}/pnm2/send",
        "vapid_key": files / "vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1", "send_555": 1})
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


def huawei():
    return Push("huawei", uuid.uuid4().hex, contact=";pn-provider=huawei;pn-prid=@TOKEN@", sip_pns="huawei")


def fcm(app):
    return Push(app, fcm_token(), contact=f";pn-provider=fcm;pn-param={app};pn-prid=@TOKEN@", sip_pns="fcm")


def pushwake(kamailio, *arguments):
    return subprocess.run([PUSHWAKE, *map(str, arguments), "--socket", kamailio.directory / "engine.sock"],
                          capture_output=True, text=True, check=False, timeout=60)


def send(kamailio, *arguments):
    done = pushwake(kamailio, "send", *arguments, "--json", "--timeout", 5)
    rows = json.loads(done.stdout) if done.stdout else []
    return done.returncode, rows[0] if rows else done.stderr


def test_a_phone_of_another_service_hears_of_a_call(kamailio, actors, simulator):
    push = huawei()
    caps = called(kamailio, actors, "other", push).headers("Feature-Caps")
    assert caps == ['*;+sip.pns="huawei"']
    sent = simulator.wait_push(push.token)
    assert sent["provider"] == "webhook" and sent["status"] == 200
    assert sent["path"] == f"/webhook/{push.token}"
    body = sent["body"]
    assert body["event"] == "call" and body["provider"] == "huawei" and body["token"] == push.token
    assert body["call-id"] and body["from-uri"].startswith("sip:")
    assert sent["headers"]["x-caller"] and uuid.UUID(sent["headers"]["x-pushwake-id"])


def test_the_signature_is_hmac_sha256_over_time_and_body(kamailio, simulator):
    """With a body that has one spelling only, so that the log holds its very bytes."""
    token = uuid.uuid4().hex
    code, row = send(kamailio, "call", "--platform", "huawei", "--token", token)
    assert (code, row["outcome"]) == (0, "accepted"), row
    sent = simulator.wait_push(token)
    fields = dict(part.split("=", 1) for part in sent["headers"]["x-pushwake-signature"].split(","))
    secret = (simulator.directory / "files" / "webhook.secret").read_bytes().strip()
    body = json.dumps(sent["body"], separators=(",", ":"), ensure_ascii=False)
    signed = f"{fields['t']}.{body}".encode()
    assert hmac.new(secret, signed, hashlib.sha256).hexdigest() == fields["v1"]
    assert abs(time.time() - int(fields["t"])) < 30


def test_a_dead_token_of_the_webhook_is_forgotten(kamailio, actors):
    push = huawei()
    push.token = f"unregistered-{push.token}"
    actors.phone(kamailio, "leaver", push).register()
    caller = actors.call(kamailio, "leaver", "call")
    kamailio.wait_log("RESULT provider=webhook outcome=token-gone aor=leaver status=410 removed=1")
    caller.stop()


@pytest.mark.parametrize("token", ["..%2Fadmin%2Fdelete-all", "%252e%252e%255Cadmin", "%25EF%25BC%258E%25EF%25BC%258E%252Fadmin"])
def test_no_token_leads_out_of_the_path(kamailio, actors, simulator, token):
    name = f"climber-{uuid.uuid4().hex[:8]}"
    actors.phone(kamailio, name, Push("huawei", token, contact=";pn-provider=huawei;pn-prid=@TOKEN@", sip_pns="huawei")).register()
    caller = actors.call(kamailio, name, "call")
    kamailio.wait_log(f"RESULT provider=webhook outcome=rejected aor={name}")
    caller.stop()
    assert not [r for r in simulator.requests if "admin" in r["path"]]


@pytest.mark.parametrize(("app", "project"), [
    ("com.example.one", SECOND), (SECOND, SECOND), ("com.example.any", "pushwake-simulator"),
    ("pushwake-simulator", "pushwake-simulator"),
])
def test_each_app_is_pushed_through_its_own_project(kamailio, actors, simulator, app, project):
    push = fcm(app)
    called(kamailio, actors, f"fcm-{app}", push)
    sent = simulator.wait_push(push.token)
    assert sent["path"] == f"/v1/projects/{project}/messages:send" and sent["status"] == 200


def test_an_account_that_cannot_be_read_costs_its_own_app_only(kamailio):
    kamailio.wait_log("fcm_key1000", "/nonexistent/key.json")
    code, row = send(kamailio, "call", "--platform", "fcm", "--package", "com.example.broken", "--token", fcm_token())
    assert code == 1 and row["outcome"] == "misconfigured" and "fcm_key1000" in row["reason"]
    code, row = send(kamailio, "call", "--platform", "fcm", "--package", "com.example.one", "--token", fcm_token())
    assert code == 0 and row["outcome"] == "accepted"


def test_pushes_by_hand_to_every_service(kamailio, simulator):
    keys = json.loads((simulator.directory / "files" / "subscription.json").read_text())
    token = uuid.uuid4().hex
    endpoint = f"{simulator.url}/push/{token}"
    assert send(kamailio, "call", "--platform", "webpush", "--token", endpoint)[0] == 0
    assert "content-encoding" not in simulator.wait_push(token)["headers"]
    code, row = send(kamailio, "chat", "--platform", "webpush", "--token", endpoint, "--p256dh", keys["p256dh"],
                     "--auth", keys["auth"], "--text", "hi")
    assert code == 0, row
    assert simulator.wait_push(token, after=1)["headers"]["content-encoding"] == "aes128gcm"

    token = uuid.uuid4().hex
    arguments = ["call", "--platform", "acrobits", "--package", "com.example.app", "--token", token]
    assert send(kamailio, *arguments, "--selector", "7A6F:1")[0] == 0
    assert simulator.wait_push(token)["body"]["Selector"] == "7A6F:1"

    token = rfc8599_apns().token
    arguments = ["call", "--platform", "apns", "--package", "com.example.phone", "--token", token]
    assert send(kamailio, *arguments, "--service", "voip")[0] == 0
    assert simulator.wait_push(token)["headers"]["apns-topic"] == "com.example.phone.voip"
    done = pushwake(kamailio, "send", "chat", *arguments[1:], "--service", "voip")
    assert done.returncode == 1 and "PushKit" in done.stderr
    done = pushwake(kamailio, "send", "call", "--platform", "webpush", "--token", endpoint, "--auth", "x")
    assert done.returncode == 2 and "--p256dh" in done.stderr


def test_what_is_pushed_by_hand_may_begin_with_a_dash(kamailio, simulator):
    keys = json.loads((simulator.directory / "files" / "subscription.json").read_text())
    token = uuid.uuid4().hex
    endpoint = f"{simulator.url}/push/{token}"
    # One secret of a subscription in 64 begins so.
    code, row = send(kamailio, "chat", "--platform", "webpush", "--token", endpoint, "--p256dh", keys["p256dh"],
                     "--auth", "-" + "A" * 21, "--text", "- hi", "--title", "-", "--name", "-Ann", "--from", "-1")
    assert code == 0, row
    assert simulator.wait_push(token)["headers"]["content-encoding"] == "aes128gcm"


def test_explain_asks_the_engine_and_without_it_the_file(make_kamailio, actors, simulator, tmp_path):
    kamailio = make_kamailio(settings={
        "webhook_url": f"{simulator.url}/webhook/$token"}).start().wait_engine()
    push = huawei()
    actors.phone(kamailio, "explained", push).register()
    request = tmp_path / "invite.sip"
    request.write_text("INVITE sip:explained@127.0.0.1 SIP/2.0\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:explained@b>\r\n"
                       "Call-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n")

    def explained(*arguments):
        done = pushwake(kamailio, "explain", "--aor", "explained", "--request", request, *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["requests"][0]

    # No settings: the engine has its own.
    shown = explained()
    assert shown["url"] == f"{simulator.url}/webhook/{push.token}" and shown["body"]["provider"] == "huawei"
    kamailio.stop()
    before = kamailio.store.stat().st_mtime_ns
    offline = explained("--set", f"store_path={kamailio.store}", "--set", f"webhook_url={simulator.url}/x/TOKEN")
    assert offline["url"] == f"{simulator.url}/x/{push.token}"
    assert kamailio.store.stat().st_mtime_ns == before
    done = pushwake(kamailio, "explain", "--aor", "explained", "--request", request, "--set", "store=memory")
    assert done.returncode == 2 and "store=memory" in done.stderr
