# SPDX-License-Identifier: MIT
"""A mistake in an account at a push service: what the operator reads of it, in the log, in a push by hand and from doctor."""

import json
import uuid

import pytest

from peers.http_client import listen
from servers import wait_until

ENABLE = "https://console.developers.google.com/apis/api/fcm.googleapis.com/overview?project=417"


def google_error(status, word, message, *details):
    return {"provider": "fcm", "status": status,
            "body": {"error": {"code": status, "message": message, "status": word, "details": list(details)}}}


API_DISABLED = google_error(
    403, "PERMISSION_DENIED",
    f"Firebase Cloud Messaging API has not been used in project 417 before or it is disabled. Enable it by visiting {ENABLE} "
    "then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com"})
NO_PERMISSION = google_error(
    403, "PERMISSION_DENIED", "Permission 'cloudmessaging.messages.create' denied on resource "
    "'//cloudresourcemanager.googleapis.com/projects/shop' (or it may not exist).",
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "IAM_PERMISSION_DENIED", "domain": "iam.googleapis.com"})
NO_APPLE_KEY = google_error(
    401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service",
    {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "THIRD_PARTY_AUTH_ERROR"},
    {"@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError", "statusCode": 403, "reason": "InvalidProviderToken"})


def account(simulator):
    made = simulator.settings()
    return {name: made[name] for name in ("fcm_key", "fcm_url")}


def send(engine, platform="fcm", app="com.example.phone", token=None):
    """Outcome and reason of a push by hand."""
    done = engine.run("send", "call", "--platform", platform, "--package", app, "--token", token or uuid.uuid4().hex * 2,
                      "--timeout", "10", "--json")
    row = json.loads(done.stdout)[0]
    return row["outcome"], row["reason"]


def bind(client, user, **fields):
    body = "&".join(f"{name}={value}" for name, value in {"aor": user, **fields}.items())
    assert client.curl("/v1/bindings", "-d", body).json == {"stored": 1}


def doctor(engine, user):
    """Text by step; what to do is the step `advice`."""
    rows = json.loads(engine.run("doctor", user, "--json").stdout)
    return {row["step"]: row["text"] for row in rows}


@pytest.mark.parametrize("answer, told", [
    (API_DISABLED, f"Enable it by visiting {ENABLE}"),
    (NO_PERMISSION, "Permission 'cloudmessaging.messages.create' denied"),
], ids=["disabled", "permission"])
def test_what_google_says_of_the_project_reaches_the_operator(make_simulator, make_engine, tmp_path, answer, told):
    google = make_simulator({"rules": [answer]})
    engine, client = listen(make_engine, tmp_path, provider=google, **account(google))
    bind(client, "bob", provider="fcm", app="com.example.phone", token="t" * 60)
    outcome, reason = send(engine, token="t" * 60)
    assert outcome == "misconfigured" and reason.startswith("PERMISSION_DENIED") and told in reason
    assert told in engine.text()
    assert engine.run("send", "call", "bob").returncode == 1
    found = doctor(engine, "bob")
    assert told in found["push"] and ("cloud" in found["advice"].lower() or ENABLE in found["advice"])


def test_a_missing_permission_names_the_role(make_simulator, make_engine):
    google = make_simulator({"rules": [NO_PERMISSION]})
    engine = make_engine(google, **account(google))
    assert "Firebase Cloud Messaging API Admin" in send(engine)[1]


def test_an_apple_key_that_google_lacks_is_the_mistake_of_that_app(make_simulator, make_engine):
    google = make_simulator({"rules": [{**NO_APPLE_KEY, "token": "iphone*"}]})
    engine = make_engine(google, **account(google), max_fail=5)
    for _ in range(12):
        outcome, reason = send(engine, token=f"iphone{uuid.uuid4().hex}")
        assert outcome == "misconfigured" and reason.startswith("THIRD_PARTY_AUTH_ERROR InvalidProviderToken")
        assert "APNs" in reason and "Firebase console" in reason
    assert "circuit open" not in engine.text()
    assert send(engine) == ("accepted", "")


def test_a_circuit_says_what_opened_it(make_simulator, make_engine, tmp_path):
    apple = make_simulator({"rules": [{"provider": "apns", "reason": "InvalidProviderToken", "count": 8}]})
    keys = {name: apple.settings()[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}
    engine, client = listen(make_engine, tmp_path, provider=apple, **keys, max_fail=3)
    bind(client, "bob", provider="apns", app="com.example.phone", token="ab" * 32)
    for _ in range(3):
        assert send(engine, "apns") == ("misconfigured", "InvalidProviderToken")
    wait_until("the circuit opens", lambda: "circuit open" in engine.text())
    # One push in half a minute tries it; all others end so.
    outcome, reason = send(engine, "apns")
    assert (outcome, reason) == ("unavailable", "CircuitOpen (InvalidProviderToken)")
    assert engine.run("send", "call", "bob").returncode == 1
    found = doctor(engine, "bob")
    assert "circuit is open" in found["provider"] and "InvalidProviderToken" in found["provider"]
    assert "firewall" not in found["advice"] and "apns_key_id" in found["advice"]


def test_a_circuit_that_no_connection_opened_says_so(make_simulator, make_engine, tmp_path):
    apple = make_simulator()
    keys = {name: apple.settings()[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}
    engine, client = listen(make_engine, tmp_path, provider=apple, **keys, max_fail=2, apns_url="https://127.0.0.1:9")
    bind(client, "bob", provider="apns", app="com.example.phone", token="ab" * 32)
    for _ in range(2):
        engine.call("com.example.phone", seconds=1)
    wait_until("the circuit opens", lambda: "circuit open" in engine.text())
    found = doctor(engine, "bob")
    assert "Connection refused" in found["provider"] and "firewall" in found["advice"]
