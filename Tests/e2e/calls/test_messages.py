# SPDX-License-Identifier: MIT
"""A MESSAGE that nobody woke for."""

import pytest

from phones import rfc8599_fcm


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
    assert server.held() == 0


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
    server = make_server(settings={"message_unanswered": "accept"}, wake_timeout=1)
    phone = wire.phone(server, "member", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    assert wire.caller(server).request(phone.user, method, *headers).wait_final().status == 480
