# SPDX-License-Identifier: MIT
"""All providers through an HTTP proxy: by CONNECT, with and without a password, past it, and when it is gone."""

import time
import uuid

import pytest

from peers.connect_proxy import ConnectProxy
from servers import wait_until

APP = "com.example.phone"


@pytest.fixture
def make_proxy():
    made = []

    def make(**options):
        made.append(ConnectProxy(**options))
        return made[-1]

    yield make
    for proxy in made:
        proxy.stop()


@pytest.fixture
def keys(simulator):
    """Settings of both Apple and Google."""
    made = simulator.settings()
    return {name: made[name] for name in ("apns_key", "apns_key_id", "apns_team_id", "fcm_key", "fcm_url")}


def target(simulator):
    return f"127.0.0.1:{simulator.port}"


def test_pushes_and_access_tokens_go_through_it(simulator, make_engine, make_proxy, keys):
    proxy = make_proxy()
    engine = make_engine(**keys, http_proxy=proxy.address)
    token = uuid.uuid4().hex
    assert engine.call(APP, token) == ("accepted", "")
    assert simulator.wait_push(token)["status"] == 200
    sent = engine.run("send", "call", "--platform", "fcm", "--package", APP, "--token", f"token-{token}", "--json")
    assert '"outcome":"accepted"' in sent.stdout
    assert set(proxy.asked) == {(target(simulator), 200)}
    # One tunnel for Apple's pushes, one for Google's, and one for its access tokens.
    assert len(proxy.asked) >= 3


@pytest.mark.parametrize("place", ["file", "address"])
def test_it_gets_its_password(simulator, make_engine, make_proxy, keys, tmp_path, place):
    proxy = make_proxy(password="pbx:käse secret")
    if place == "file":
        (tmp_path / "proxy").write_text("pbx:käse secret\n")
        engine = make_engine(**keys, http_proxy=proxy.address, http_proxy_auth=tmp_path / "proxy")
    else:
        engine = make_engine(**keys, http_proxy=f"http://pbx:k%C3%A4se%20secret@{proxy.address}")
    assert engine.call(APP) == ("accepted", "")
    assert set(proxy.asked) == {(target(simulator), 200)}
    assert "secret" not in engine.text()


@pytest.mark.parametrize("given", [None, "pbx:old-secret"])
def test_without_the_right_password_the_outcome_says_so(simulator, make_engine, make_proxy, keys, tmp_path, given):
    proxy = make_proxy(password="pbx:new-secret")
    settings = {"http_proxy": proxy.address}
    if given:
        (tmp_path / "proxy").write_text(given + "\n")
        settings["http_proxy_auth"] = tmp_path / "proxy"
    engine = make_engine(**keys, **settings)
    before = len(simulator.requests)
    outcome, reason = engine.call(APP, seconds=5)
    assert outcome == "unavailable"
    assert reason.startswith("the proxy wants a name and password, or others: HTTP/1.1 407")
    assert {status for _, status in proxy.asked} == {407}
    assert len(simulator.requests) == before
    assert "the proxy wants a name and password" in engine.text() and "secret" not in engine.text()


@pytest.mark.parametrize("exceptions", ["127.0.0.1", "10.0.0.0/8, 127.0.0.0/8", "*"])
def test_no_proxy_goes_past_it(make_engine, make_proxy, keys, exceptions):
    proxy = make_proxy()
    engine = make_engine(**keys, http_proxy=proxy.address, no_proxy=exceptions)
    assert engine.call(APP) == ("accepted", "")
    assert proxy.asked == []


def test_a_proxy_that_is_gone_ends_pushes_honestly_and_may_come_back(simulator, make_engine, make_proxy, keys):
    proxy = make_proxy()
    engine = make_engine(**keys, http_proxy=proxy.address, max_fail=0)
    assert engine.call(APP) == ("accepted", "")
    proxy.stop()
    before = len(simulator.requests)
    started = time.monotonic()
    outcome, reason = engine.call(APP, seconds=3)
    assert outcome == "unavailable" and "refused" in reason.lower()
    assert time.monotonic() - started < 5
    assert len(simulator.requests) == before
    assert engine.text().count("apns production: cannot connect: ") == 1

    again = make_proxy(port=proxy.port)
    wait_until("pushes go through again", lambda: engine.call(APP)[0] == "accepted", 30)
    assert again.asked and {status for _, status in again.asked} == {200}


def test_a_proxy_that_cannot_reach_the_provider_is_named(make_engine, make_proxy, keys):
    proxy = make_proxy()
    engine = make_engine(**keys | {"apns_url": "https://127.0.0.1:9"}, http_proxy=proxy.address)
    outcome, reason = engine.call(APP, seconds=3)
    assert outcome == "unavailable" and reason.startswith("the proxy refuses: HTTP/1.1 502")
