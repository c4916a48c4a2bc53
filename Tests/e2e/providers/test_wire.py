# SPDX-License-Identifier: MIT
"""What goes over the wire to Apple and Google, read by libraries that are not ours and with keys made here."""

import base64
import json
import re
import subprocess
import time
import uuid

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from peers.h2_provider import Provider, Vendors
from servers import PUSHWAKE, wait_until

APP = "com.example.phone"
RING, KEEP = 20, 3600
# What only stops what rings.
OVER = 30
PSEUDO = [":method", ":scheme", ":authority", ":path"]


def decoded(text):
    assert re.fullmatch(r"[A-Za-z0-9_-]+", text), "base64url without padding"
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Engine:
    """`pushwake engine` between its own files and providers."""

    def __init__(self, directory, settings):
        self.socket = directory / "engine.sock"
        values = {"store_path": directory / "bindings.db", "wake_timeout": RING, "message_ttl": KEEP, **settings}
        self.log = directory / "engine.log"
        self.process = subprocess.Popen(
            [PUSHWAKE, "engine", "--socket", self.socket, *(f"--set={name}={value}" for name, value in values.items())],
            stdin=subprocess.DEVNULL, stderr=self.log.open("wb"))
        wait_until("the engine listens", self.socket.exists)

    def send(self, event, *arguments, **options):
        """One push by hand; the rows that `pushwake send` printed, or its complaint."""
        pairs = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)]
        done = subprocess.run(
            [PUSHWAKE, "send", event, *arguments, *pairs, "--socket", self.socket, "--json", "--timeout", "10"],
            capture_output=True, text=True, check=False, timeout=20)
        return json.loads(done.stdout) if done.stdout else done.stderr.strip()

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def check_form(request, path):
    """HTTP/2 as RFC 9113 has it (8.2, 8.3), which h2 alone would not say of every field."""
    names = request.names
    assert len(set(names)) == len(names), "a field twice"
    assert all(name == name.lower() for name in names)
    pseudo = [name for name in names if name.startswith(":")]
    assert names[:len(pseudo)] == pseudo, "a pseudo header after another field"
    assert sorted(pseudo) == sorted(PSEUDO)
    assert request[":method"] == "POST" and request[":scheme"] == "https" and request[":path"] == path
    assert all(value == value.strip() and value.isprintable() for _, value in request.fields)
    assert not {"connection", "host", "transfer-encoding", "keep-alive", "upgrade", "te"} & set(names)
    for length in request.values("content-length"):
        assert int(length) == len(request.body)


def check_provider_token(request, vendors):
    """The claims of Apple's token: ES256 with the raw signature of RFC 7518, 3.4."""
    kind, _, token = request["authorization"].partition(" ")
    assert kind == "bearer"
    header, payload, signature = token.split(".")
    said, raw = json.loads(decoded(header)), decoded(signature)
    assert said["alg"] == "ES256" and said["kid"] == vendors.key_id and set(said) <= {"alg", "kid", "typ"}
    assert len(raw) == 64
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    vendors.apple_key.public_key().verify(der, f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(decoded(payload))
    assert set(claims) == {"iss", "iat"} and claims["iss"] == vendors.team
    assert isinstance(claims["iat"], int) and time.time() - 3600 < claims["iat"] <= time.time() + 1
    return token


@pytest.fixture(scope="module")
def vendors(tmp_path_factory):
    return Vendors(tmp_path_factory.mktemp("vendors"))


# MARK: Apple


@pytest.fixture(scope="module")
def apple(tmp_path_factory, vendors):
    production, sandbox = Provider(vendors), Provider(vendors)
    engine = Engine(tmp_path_factory.mktemp("apple"), {
        "ca_file": vendors.directory / "ca.pem", "apns_key": vendors.directory / f"AuthKey_{vendors.key_id}.p8",
        "apns_key_id": vendors.key_id, "apns_team_id": vendors.team, "apns_url": production.url,
        "apns_sandbox_url": sandbox.url})
    yield engine, production, sandbox
    engine.stop()
    production.stop()
    sandbox.stop()
    assert production.errors == sandbox.errors == []


def pushed(apple, event, **options):
    """Sends one push to a token of its own; the rows and what came."""
    engine, production, sandbox = apple
    token = uuid.uuid4().hex * 2
    rows = engine.send(event, platform="apns", package=APP, token=token, **options)
    provider = sandbox if options.get("environment") == "sandbox" else production
    return rows, token, provider.to(token)


APPLE = [
    # event, kind of token, push type, topic, priority, seconds to live
    ("call", "voip", "voip", f"{APP}.voip", "10", RING),
    ("call", None, "voip", f"{APP}.voip", "10", RING),
    # Shown late, it would announce a call that is over.
    ("call", "remote", "alert", APP, "10", 0),
    ("chat", "remote", "alert", APP, "10", KEEP),
    ("group-chat", "remote", "alert", APP, "10", KEEP),
    ("custom", "remote", "alert", APP, "10", KEEP),
    ("missed", "remote", "alert", APP, "10", KEEP),
    # It can wait until the phone is awake anyway, unless voicemail_urgent says otherwise.
    ("voicemail", "remote", "alert", APP, "5", KEEP),
    # The request is held for no longer than this.
    ("refer", "remote", "alert", APP, "10", RING),
    ("elsewhere", "remote", "alert", APP, "10", OVER),
    ("cancel", "remote", "alert", APP, "10", OVER),
    ("chat", None, "alert", APP, "10", KEEP),
    ("refresh", "remote", "background", APP, "5", KEEP),
]


@pytest.mark.parametrize("event, service, kind, topic, priority, seconds", APPLE)
def test_apple_gets_the_fields_for_the_event_and_the_token(apple, vendors, event, service, kind, topic, priority, seconds):
    options = {"service": service} if service else {}
    call_id = f"call-{uuid.uuid4()}@192.0.2.1"
    before = int(time.time())
    rows, token, came = pushed(apple, event, call_id=call_id, name='Ä "quoted" \\ name', **options)
    assert [row["outcome"] for row in rows] == ["accepted"]
    assert len(came) == 1, "one push, one request"
    request, = came
    check_form(request, f"/3/device/{token}")
    check_provider_token(request, vendors)
    assert request[":authority"] == apple[1].authority
    assert request["apns-push-type"] == kind and request["apns-topic"] == topic
    assert request["apns-priority"] == priority
    if seconds:
        assert before + seconds <= int(request["apns-expiration"]) <= time.time() + seconds
    else:
        assert request["apns-expiration"] == "0"
    assert str(uuid.UUID(request["apns-id"])) == request["apns-id"], "canonical, in lower case"
    collapse = request.values("apns-collapse-id")
    assert all(0 < len(value.encode()) <= 64 for value in collapse)
    assert not (collapse and kind == "voip"), "no call replaces another"
    assert request.json["call-id"] == call_id
    assert request.json["display-name"] == 'Ä "quoted" \\ name'
    assert ("aps" in request.json) == (kind != "voip"), "PushKit needs none, and some apps read it as no call"
    aps = request.json.get("aps", {})
    assert ("content-available" in aps) == (kind == "background")
    assert ("alert" in aps) == (kind == "alert")


@pytest.mark.parametrize("event", [
    "chat", "group-chat", "custom", "missed", "elsewhere", "cancel", "refresh", "voicemail", "refer"])
def test_a_pushkit_token_gets_nothing_but_calls(apple, event):
    complaint, _, came = pushed(apple, event, service="voip")
    assert complaint == "pushwake: a PushKit token may only get calls"
    assert came == []


def test_the_sandbox_has_a_connection_of_its_own(apple, vendors):
    rows, token, came = pushed(apple, "call", service="voip", environment="sandbox")
    assert [row["outcome"] for row in rows] == ["accepted"]
    request, = came
    assert request[":authority"] == apple[2].authority
    check_provider_token(request, vendors)
    assert apple[1].to(token) == []


def test_all_pushes_share_one_connection_and_one_token(apple, vendors):
    for _ in range(3):
        pushed(apple, "call", service="voip")
    production = apple[1]
    assert production.connections == 1
    assert len({check_provider_token(request, vendors) for request in production.requests}) == 1


def test_many_pushes_keep_the_header_table_free_of_what_changes(vendors):
    """`pushwake load`: what differs from push to push would drive out what they share, and a token is a secret."""
    provider = Provider(vendors)
    count = 1000
    done = subprocess.run(
        [PUSHWAKE, "load", "--url", provider.url, "--dir", vendors.directory, "--count", str(count), "--concurrency", "50",
         "--json"], capture_output=True, text=True, check=False, timeout=60)
    provider.stop()
    assert provider.errors == []
    assert done.returncode == 0 and json.loads(done.stdout)["accepted"] == count, done.stderr
    requests = provider.requests
    assert len(requests) == count and provider.connections == 1
    for request in requests:
        token = request[":path"].removeprefix("/3/device/")
        assert re.fullmatch(r"[0-9a-f]{64,}", token)
        check_form(request, f"/3/device/{token}")
        assert request.json["call-id"]
        assert {":path", "apns-id", "authorization"} <= request.never_indexed
        assert not {":path", "apns-id", "authorization"} & set(request.table)
    assert len({request["apns-id"] for request in requests}) == count
    assert len({request[":path"] for request in requests}) == count
    assert len({request["authorization"] for request in requests}) == 1
    check_provider_token(requests[0], vendors)
    # What the pushes share is in the table, once each.
    table = requests[-1].table
    assert {":authority", "apns-topic", "apns-push-type"} <= set(table)
    assert len([name for name in table if name != "apns-expiration"]) == len(set(table) - {"apns-expiration"})
    assert set(provider.endings) <= {0}, "said goodbye, if anything"


# MARK: Google


def google_answers(request):
    if request[":path"] == "/token":
        return json.dumps({"access_token": "ya29.wire-token", "expires_in": 3599, "token_type": "Bearer"}).encode()
    return json.dumps({"name": "projects/wire-project/messages/1"}).encode()


@pytest.fixture(scope="module")
def google(tmp_path_factory, vendors):
    provider = Provider(vendors, google_answers)
    engine = Engine(tmp_path_factory.mktemp("google"), {
        "ca_file": vendors.directory / "ca.pem", "fcm_key": vendors.service_account(f"{provider.url}/token"),
        "fcm_url": provider.url})
    yield engine, provider
    engine.stop()
    provider.stop()
    assert provider.errors == []


def test_google_gets_a_signed_assertion_and_then_its_token(google, vendors):
    engine, provider = google
    for _ in range(3):
        rows = engine.send("call", platform="fcm", package=APP, token=f"{uuid.uuid4()}:APA91b")
        assert [row["outcome"] for row in rows] == ["accepted"]

    request, = provider.to("/token")
    check_form(request, "/token")
    assert request["content-type"] == "application/x-www-form-urlencoded"
    assert set(request.form) == {"grant_type", "assertion"}
    assert request.form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assertion, = request.form["assertion"]
    header, payload, signature = assertion.split(".")
    vendors.google_key.public_key().verify(
        decoded(signature), f"{header}.{payload}".encode(), padding.PKCS1v15(), hashes.SHA256())
    assert json.loads(decoded(header)) == {"alg": "RS256", "typ": "JWT", "kid": "wire-key"}
    claims = json.loads(decoded(payload))
    assert set(claims) == {"iss", "scope", "aud", "iat", "exp"}
    assert claims["iss"] == vendors.email and claims["aud"] == f"{provider.url}/token"
    assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
    assert time.time() - 300 < claims["iat"] <= time.time() + 1
    assert claims["iat"] < claims["exp"] <= claims["iat"] + 3600

    pushes = provider.to("messages:send")
    assert len(pushes) >= 3
    assert {push["authorization"] for push in pushes} == {"Bearer ya29.wire-token"}
    for push in pushes:
        assert "authorization" in push.never_indexed and "authorization" not in push.table


@pytest.mark.parametrize("event, seconds", [("call", RING), ("chat", KEEP), ("refresh", KEEP), ("missed", KEEP)])
def test_google_gets_a_data_message(google, event, seconds):
    engine, provider = google
    token = f"{uuid.uuid4()}:APA91b"
    call_id = str(uuid.uuid4())
    engine.send(event, platform="fcm", package=APP, token=token, call_id=call_id, name='Ä "quoted" \\ name', text="hi")
    request, = (push for push in provider.to("messages:send") if token.encode() in push.body)
    check_form(request, f"/v1/projects/{Vendors.project}/messages:send")
    assert request["content-type"] == "application/json"
    assert set(request.json) == {"message"}
    message = request.json["message"]
    assert message["token"] == token and "notification" not in message
    data = message["data"]
    assert all(isinstance(value, str) for value in data.values()), data
    reserved = [name for name in data if name in ("from", "message_type") or name.startswith(("google.", "gcm."))]
    assert reserved == []
    assert data["event"] == event and data["call-id"] == call_id
    assert data["display-name"] == 'Ä "quoted" \\ name'
    android = message["android"]
    assert android["priority"].upper() in ("HIGH", "NORMAL")
    assert event != "call" or android["priority"].upper() == "HIGH"
    assert android["ttl"] == f"{seconds}s"
