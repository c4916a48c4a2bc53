# SPDX-License-Identifier: MIT
"""Browsers behind the gateway: they register over WebSocket at a server that knows only UDP, and wake by Web Push."""

import re
import uuid

import pytest

from peers.upstream import REALM, configuration, contacts, make_registrar, name_server, piid, register
from phones import Push
from servers import MODULES, ROOT, wait_until

pytestmark = pytest.mark.skipif(not (MODULES / "websocket.so").exists(), reason="kamailio-websocket-modules is missing")


def web_configuration():
    """The configuration of docs/gateway.md with what the same page adds for browsers."""
    text = (ROOT / "docs/gateway.md").read_text()
    added, route = re.findall(r"^```\w*\n(# Browsers.*?)^```", text, flags=re.M | re.S)[0].split("# First in request_route\n")
    config = configuration().replace("/etc/kamailio/server.pem", "@CERTIFICATE@")
    added = added.replace("/etc/kamailio/server.pem", "@CERTIFICATE@").replace(":8443", ":@TLS_PORT@").replace("0.0.0.0", "127.0.0.1")
    config = config.replace('loadmodule "tm.so"', 'enable_tls=yes\nloadmodule "tls.so"\nloadmodule "tm.so"', 1)
    at = config.index("request_route {")
    config = config[:at] + added + config[at:]
    return config.replace("request_route {\n", "request_route {\n" + route, 1)


def test_a_browser_registers_sleeps_and_wakes_by_web_push(make_kamailio, tmp_path, wire, simulator):
    from peers.web_socket import WebSocketPhone

    registrar = make_registrar(make_kamailio)
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    files = simulator.directory / "files"
    gateway = make_kamailio(config=web_configuration(), wake_timeout=10, settings={
        "secret_key_file": str(key), "vapid_key": files / "vapid.pem",
        "vapid_subject": "mailto:ops@example.com", "webpush_hosts": "127.0.0.1"})
    gateway.as_printed().start().wait_engine()
    name_server(gateway, registrar)
    push = Push("webpush", uuid.uuid4().hex, contact=f";pn-provider=webpush;pn-prid={simulator.url}/push/@TOKEN@")

    phone = WebSocketPhone(gateway, "301", REALM, push)
    answer = register(phone, 600, piid(phone))
    assert answer.status == 200, answer.text
    assert "webpush" in answer.headers("Feature-Caps")[0]
    assert len(contacts(registrar, "301")) == 1

    call = wire.call(registrar, "301")
    phone.wait_for("INVITE", lambda m: m.method == "INVITE", 10)
    call.wait_status(200, 10)
    phone.wait_for("ACK", lambda m: m.method == "ACK", 5)
    call.hang_up()
    phone.wait_for("BYE", lambda m: m.method == "BYE", 5)
    call.wait_answer("BYE")
    phone.close()
    # A connection that has just ended is no way to ring anybody.
    wait_until("the connection is closed", lambda: "wss" not in (gateway.rpc("core.tcp_list") or "").lower())

    call = wire.call(registrar, "301")
    simulator.wait_push(push.token, seconds=10)
    woken = WebSocketPhone(gateway, "301", REALM, push, phone.instance)
    assert register(woken, 600, piid(woken)).status == 200
    woken.wait_for("INVITE", lambda m: m.method == "INVITE", 10)
    call.wait_status(200, 10)
    woken.close()
