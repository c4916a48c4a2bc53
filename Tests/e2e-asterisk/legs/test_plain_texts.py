# SPDX-License-Identifier: MIT
"""MessageSend() of a dialplan that knows nothing of push: the text waits for its phone as a call does."""

import pytest
from sleeper import fcm
from test_plain_dial import SILENT_AFTER

DIALPLAN = """
[messages]
exten => _1XX,1,MessageSend(pjsip:${EXTEN},${MESSAGE(from)})
"""


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("plain-texts", extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 8})
    yield made
    made.stop()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_text_waits_for_a_phone_that_sleeps(sleeper, caller, user, transport):
    """Over UDP the registrar still has the address of the phone, which is gone."""
    phone = sleeper(fcm, transport)
    assert caller.message(user, "Are you there?").status == 202
    push = phone.simulator.wait_push(phone.token)
    assert "Are you there?" in str(push["body"])
    awake = phone.wake()
    message = awake.expect_request("MESSAGE")
    assert message.body == "Are you there?" and "caller" in message["From"]
    awake.reply(message, 200, "OK")
    assert awake.gets_nothing("MESSAGE", SILENT_AFTER + 0.5)
    assert len(phone.pushes) == 1


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_that_is_awake_gets_it_once_and_no_push(phones, simulator, caller, user, transport, asterisk):
    phone = phones(user, asterisk.address, transport)
    assert phone.register(fcm("awake" + user * 10)).status == 200
    assert caller.message(user, "Hello").status == 202
    message = phone.expect_request("MESSAGE")
    phone.reply(message, 200, "OK")
    assert phone.gets_nothing("MESSAGE", SILENT_AFTER + 0.5)
    assert simulator.pushes("awake" + user * 10) == []


def test_a_suspended_phone_is_pushed_and_gets_it_when_it_registers(frozen, caller, user):
    phone = frozen(fcm)
    assert caller.message(user, "Wake up").status == 202
    awake = phone.wait_and_wake()
    message = awake.expect_request("MESSAGE")
    assert message.body == "Wake up"
    awake.reply(message, 200, "OK")
    assert awake.gets_nothing("MESSAGE", SILENT_AFTER + 0.5)


def test_a_phone_without_push_gets_it_as_ever(phones, caller, user, asterisk):
    phone = phones(user, asterisk.address)
    assert phone.register().status == 200
    assert caller.message(user, "Hello").status == 202
    phone.reply(phone.expect_request("MESSAGE"), 200, "OK")
