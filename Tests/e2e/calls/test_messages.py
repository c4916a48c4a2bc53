# SPDX-License-Identifier: MIT
"""A MESSAGE that nobody woke for."""

import contextlib
import re
import sqlite3

import pytest

from phones import rfc8599_fcm
from servers import CALLS, ROOT


@pytest.mark.parametrize("setting, status", [("reject", 480), ("accept", 202)])
def test_message_unanswered(make_server, wire, simulator, setting, status):
    server = make_server(settings={"message_unanswered": setting}, wake_timeout=1)
    phone = wire.phone(server, "reader", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    message = wire.caller(server).write(phone.user)
    assert message.wait_final().status == status
    assert 0.9 < message.final.at - message.sent_at < 1.4
    server.wait_log("ASLEEP reader")
    assert simulator.events(phone.push.token) == ["chat"]
    server.wait_none_held()


def test_a_call_is_never_accepted_that_way(make_server, wire, simulator):
    server = make_server(settings={"message_unanswered": "accept"}, wake_timeout=1)
    phone = wire.phone(server, "callee", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    assert wire.call(server, phone.user).wait_final().status == 480


@pytest.mark.parametrize("method, headers", [
    ("INVITE", ["Content-Type: application/resource-lists+xml"]),
    ("NOTIFY", ["Event: message-summary"]),
])
def test_only_a_message_is_accepted_that_way(make_server, wire, method, headers):
    """Nobody stores an invitation to a group chat, or asks a mailbox again."""
    server = make_server(settings={"message_unanswered": "accept", "silent_after": 300}, wake_timeout=1)
    phone = wire.phone(server, "member", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    assert wire.caller(server).request(phone.user, method, *headers).wait_final().status == 480


def test_a_mailbox_that_reports_after_each_register_pushes_no_phone_again(make_server, wire, simulator):
    """A push would bring the next REGISTER, and that one the next report, without end."""
    server = make_server(settings={"silent_after": 300})
    phone = wire.phone(server, "mailbox", "udp", rfc8599_fcm())
    phone.answers["NOTIFY"] = (200,)
    phone.register()

    def report():
        return wire.caller(server).request(
            "mailbox", "NOTIFY", "Event: message-summary", text="Messages-Waiting: yes\r\n",
            content="application/simple-message-summary")

    assert report().wait_final().status == 200
    assert simulator.events(phone.push.token) == []
    phone.sleep()
    report()
    simulator.wait_event(phone.push.token, "voicemail")


def in_cpim(kind, text):
    """As RFC 5438 sends both texts and the notices that they arrived."""
    return ("From: Alice <sip:alice@127.0.0.1>\r\nNS: imdn <urn:ietf:params:imdn>\r\nimdn.Message-ID: 1\r\n\r\n"
            f"Content-Type: {kind}\r\n\r\n{text}")


def test_a_message_in_cpim_is_what_it_wraps(kamailio, wire, simulator):
    phone = wire.phone(kamailio, "wrapped", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    caller = wire.caller(kamailio)
    for kind in ["message/imdn+xml", "application/im-iscomposing+xml"]:
        caller.write(phone.user, in_cpim(kind, "<x/>"), content="message/cpim")
    caller.write(phone.user, in_cpim("text/plain; charset=utf-8", "good evening"), content="message/cpim")
    push = simulator.wait_push(phone.push.token)
    assert push["body"]["message"]["data"]["body"] == "good evening"
    woken = wire.again(phone)
    woken.register()
    assert woken.wait_request("MESSAGE").text.endswith("good evening")
    assert simulator.events(phone.push.token) == ["chat"]


def test_of_a_message_of_several_parts_the_text_is_shown(kamailio, wire, simulator):
    """A text with a picture, as Linphone sends it."""
    phone = wire.phone(kamailio, "parts", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    parts = "--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b\r\nContent-Type: text/plain\r\n\r\ngood evening\r\n--b--\r\n"
    wire.caller(kamailio).write(phone.user, parts, content='multipart/mixed; boundary="b"')
    push = simulator.wait_push(phone.push.token)
    assert push["body"]["message"]["data"]["body"] == "good evening"
    woken = wire.again(phone)
    woken.register()
    assert parts in woken.wait_request("MESSAGE").text


@pytest.mark.parametrize("content, shown", [
    ("text/plain; charset=utf-8", "good \u00e9vening"),
    ("text/plain; charset=iso-8859-1", "good \u00c3\u00a9vening"),  # what the two bytes are there
    ("text/html; charset=utf-8", "Message from "),
])
def test_a_text_is_shown_as_its_content_type_says(kamailio, wire, simulator, content, shown):
    phone = wire.phone(kamailio, f"charset-{content[5:9]}-{content[-1]}", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.caller(kamailio).write(phone.user, "good \u00e9vening", content=content)
    push = simulator.wait_push(phone.push.token)
    assert push["body"]["message"]["data"]["body"].startswith(shown)


FAMILY = "\U0001F468\u200d\U0001F469\u200d\U0001F467"


@pytest.mark.parametrize("letter, count", [("x", 1600), ("x", 2500), (FAMILY, 400), ("e\u0301", 1500)],
                         ids=["fits", "long", "families", "accents"])
def test_of_a_long_text_is_shown_what_fits(kamailio, wire, simulator, letter, count):
    """Google takes 4096 bytes, and its payload has the text twice."""
    phone = wire.phone(kamailio, "reader", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.caller(kamailio, "tcp").write(phone.user, letter * count)
    push = simulator.wait_push(phone.push.token)
    assert push["status"] == 200
    shown = push["body"]["message"]["data"]["body"]
    if count == 1600:
        assert shown == letter * count
    else:
        assert shown == letter * (len(shown) // len(letter)), "no part of a character"
        assert 1600 < len(shown.encode()) < len(letter.encode()) * count


@pytest.fixture
def storing(make_server, tmp_path):
    """A server with what docs/kamailio.md prints for msilo."""
    path = tmp_path / "silo.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        for name in ("standard", "msilo"):
            made.executescript(open(f"/usr/share/kamailio/db_sqlite/{name}-create.sql").read())
    section = (ROOT / "docs" / "kamailio.md").read_text().split("## Stored messages", 1)[1]
    before, route, register, first = re.search(
        r"```\n(.*?)\nfailure_route\[PUSHWAKE\] \{\n(.*?)\}\n\nrequest_route \{\n    \.\.\.\n    if \(is_method\(.REGISTER.\)\) \{(.*?)exit; \}\n(.*?)    \.\.\.\n```",
        section, re.S).groups()
    assert "src_ip == myself" in first
    first = first.replace("src_ip == myself", "src_port == @PORT@")  # the callers are of this machine, too
    config = CALLS.read_text().replace("@SETTINGS@", before.replace("/var/lib/kamailio/kamailio.sqlite", str(path)) + "\n@SETTINGS@")
    config = config.replace('    if (is_method("REGISTER")) { route(REGISTRAR)', '    if (is_method("REGISTER")) { ' + register)
    config = config.replace("    route(CHOICES);\n", first + "    route(CHOICES);\n", 1)
    config = config.replace("failure_route[PUSHWAKE] {\n", "failure_route[PUSHWAKE] {\n" + route, 1)
    return make_server(config=config, wake_timeout=1)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_stored_messages_reach_the_phone_that_registers(storing, wire, simulator, transport):
    phone = wire.phone(storing, "reader", transport, rfc8599_fcm())
    phone.register()
    phone.sleep()
    texts = [f"text {number}" for number in range(3)]
    for text in texts:
        assert wire.caller(storing).write(phone.user, text).wait_final().status == 202
    pushed = len(simulator.events(phone.push.token))
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("MESSAGE", count=len(texts))
    assert sorted(message.text[-len("text 0"):] for message in woken.received("MESSAGE")) == texts
    storing.wait_none_held()
    assert len(simulator.events(phone.push.token)) == pushed
