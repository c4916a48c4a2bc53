# SPDX-License-Identifier: MIT
"""Browsers at a registrar: their Contact leads nowhere but to their WebSocket (RFC 7118)."""

import re
import uuid

import pytest

from peers.upstream import answer_to
from peers.web_socket import WebSocketPhone
from phones import Push
from servers import CONFIG, MODULES, ROOT, wait_until

pytestmark = pytest.mark.skipif(not (MODULES / "websocket.so").exists(), reason="kamailio-websocket-modules is missing")


def configuration():
    """With what docs/gateway.md adds for browsers."""
    page = (ROOT / "docs/gateway.md").read_text()
    added, route = re.findall(r"^```\w*\n(# Browsers.*?)^```", page, flags=re.M | re.S)[0].split("# First in request_route\n")
    added = added.replace("/etc/kamailio/server.pem", "@CERTIFICATE@").replace("0.0.0.0:8443", "127.0.0.1:@TLS_PORT@")
    text = CONFIG.read_text().replace('loadmodule "kex.so"', 'enable_tls=yes\nloadmodule "tls.so"\nloadmodule "kex.so"', 1)
    return text.replace("request_route {\n", added + "request_route {\n" + route, 1)


@pytest.fixture
def server(make_kamailio, simulator):
    made = make_kamailio(config=configuration(), wake_timeout=10, settings={
        "silent_after": 500, "vapid_key": simulator.directory / "files/vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1"})
    return made.as_printed().start().wait_engine()


def browser(server, user, simulator, like=None):
    """Registered; `like` is the one that it was before."""
    push = like.push if like else Push("webpush", uuid.uuid4().hex, contact=f";pn-provider=webpush;pn-prid={simulator.url}/push/@TOKEN@")
    phone = WebSocketPhone(server, user, "127.0.0.1", push, like and like.instance)
    assert answer_to(phone, phone.send_register()).status == 200
    return phone


def is_called(phone, call):
    phone.wait_for("INVITE", lambda m: m.method == "INVITE")
    call.wait_status(200)
    phone.wait_for("ACK", lambda m: m.method == "ACK")
    call.hang_up()
    phone.wait_for("BYE", lambda m: m.method == "BYE")
    call.wait_answer("BYE")


def test_one_that_sleeps_is_woken_and_one_that_is_awake_is_not_pushed(server, wire, simulator):
    phone = browser(server, "tab", simulator)
    is_called(phone, wire.call(server, "tab"))
    assert simulator.pushes(phone.push.token) == []
    phone.close()
    wait_until("the connection is closed", lambda: "wss" not in (server.rpc("core.tcp_list") or "").lower())
    call = wire.call(server, "tab")
    simulator.wait_push(phone.push.token)
    is_called(browser(server, "tab", simulator, phone), call)
    server.wait_none_held()
    assert len(simulator.pushes(phone.push.token)) == 1


def test_one_that_is_suspended_is_pushed_and_rings_at_its_new_connection(server, wire, simulator):
    """Its connection is open, and nobody answers from it."""
    phone = browser(server, "frozen", simulator)
    phone._answer = lambda _: None
    call = wire.call(server, "frozen")
    simulator.wait_push(phone.push.token)
    woken = browser(server, "frozen", simulator, phone)
    is_called(woken, call)
    server.wait_none_held()
    assert len([m for m in woken.messages if m.method == "INVITE"]) == 1
    phone.close()
