# SPDX-License-Identifier: MIT
"""A dialplan that knows nothing of push: plain Dial() wakes phones."""

import time

import pytest
from servers import wait_until
from sip_phone import SDP
from sleeper import apns, fcm

TRANSPORTS = ["udp", "tcp"]
SILENT_AFTER = 1.5

DIALPLAN = """
[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
exten => _all1XX,1,Dial(${PJSIP_DIAL_CONTACTS(${EXTEN:3})},40)
exten => _short1XX,1,Dial(PJSIP/${EXTEN:5},2)
 same => n,Verbose(0,went on with ${DIALSTATUS} ${HANGUPCAUSE})
 same => n,Hangup(20)
exten => _mail1XX,1,Dial(PJSIP/${EXTEN:4},40)
 same => n,Verbose(0,went on with ${DIALSTATUS} ${HANGUPCAUSE})
 same => n,Answer()
 same => n,Echo()
"""


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("plain", extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 5})
    yield made
    made.stop()


def take(call, phone, invite):
    """The phone rings, which the caller hears since it was pushed, answers, and is hung up."""
    phone.ring(invite)
    phone.answer(invite)
    call.expect(200)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")


def nothing_is_left(asterisk):
    wait_until("no channel is left", lambda: "0 active channels" in asterisk.cli("core show channels count"), 10, 0.1)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("parameters", [apns, fcm])
def test_a_sleeping_phone_rings(sleeper, caller, user, transport, parameters, asterisk):
    phone = sleeper(parameters, transport)
    call = caller.call(user)
    push = phone.simulator.wait_push(phone.token)
    assert call.call_id in str(push["body"]) and "The Caller" in str(push["body"])
    call.expect(180)
    awake = phone.wake()
    invite = awake.expect_request("INVITE")
    assert invite.at - awake.woken_at < 0.5
    assert "pn-" not in invite.uri and phone.token not in invite.raw
    assert "pushwake" not in invite.raw.lower().replace("x-push-id", "")
    assert invite["X-Push-ID"] == call.call_id != invite["Call-ID"]
    take(call, awake, invite)
    assert len(phone.pushes) == 1
    nothing_is_left(asterisk)


def test_a_phone_with_an_open_connection_rings_at_once(phones, simulator, caller, user, asterisk):
    phone = phones(user, asterisk.address, "tcp")
    token = "ab" * 32
    assert phone.register(apns(token)).status == 200
    call = caller.call(user)
    invite = phone.expect_request("INVITE")
    assert invite.at - call.started < 0.5
    take(call, phone, invite)
    assert simulator.pushes(token) == []


def test_a_phone_over_udp_that_is_awake_is_asked_and_rings_at_once(phones, simulator, caller, user, asterisk):
    phone = phones(user, asterisk.address)
    assert phone.register(apns("cd" * 32)).status == 200
    call = caller.call(user)
    invite = phone.expect_request("INVITE")
    assert invite.at - call.started < 0.5
    take(call, phone, invite)


def test_a_suspended_phone_is_pushed_and_gets_no_invite_before(frozen, caller, user):
    phone = frozen()
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    assert SILENT_AFTER - 0.2 < time.monotonic() - call.started < SILENT_AFTER + 0.7
    awake = phone.wake()
    invite = awake.expect_request("INVITE")
    take(call, awake, invite)
    assert phone.socket.gets_nothing("INVITE", 0.3)
    assert len(phone.pushes) == 1


def test_a_suspended_phone_that_runs_again_rings_where_it_was(frozen, caller, user):
    """The OPTIONS that asked it is answered late."""
    phone = frozen()
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    take(call, phone.socket, phone.socket.expect_request("INVITE"))
    assert len(phone.pushes) == 1


def test_the_caller_hangs_up_while_it_waits(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    call.expect(180)
    call.cancel()
    wait_until("a second push", lambda: len(phone.pushes) == 2)
    assert "cancel" in str(phone.pushes[1]["body"])
    awake = phone.wake()
    assert awake.gets_nothing("INVITE", 0.5)
    nothing_is_left(asterisk)


def test_the_caller_hangs_up_while_the_phone_rings(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    call.expect(180)
    call._send("CANCEL", call.target, call.cseq, call.branch)
    cancel = awake.expect_request("CANCEL")
    awake.reply(cancel, 200, "OK")
    awake.reply(invite, 487, "Request Terminated")
    call.expect_final(487)
    nothing_is_left(asterisk)


def test_the_caller_hangs_up_while_a_phone_rings_that_has_moved_since(sleeper, caller, user, asterisk):
    """Over UDP its CANCEL goes where it was."""
    phone = sleeper(fcm)
    call = caller.call(user)
    awake = phone.wait_and_wake()
    phone.ring(awake)
    moved = phone.move(awake)
    awake.close()
    call._send("CANCEL", call.target, call.cseq, call.branch)
    wait_until("the end is pushed", lambda: len(phone.pushes) == 2)
    assert "cancel" in str(phone.pushes[1]["body"])
    assert moved.gets_nothing("INVITE", 0.3)


def refuse(phone, call, status, reason):
    """What the caller hears when its only phone says this."""
    invite = phone.expect_request("INVITE")
    phone.reply(invite, status, reason)
    phone.expect_request("ACK")
    started = time.monotonic()
    response = call.final()
    assert time.monotonic() - started < 1
    return response.status


@pytest.mark.parametrize("status, reason", [(486, "Busy Here"), (603, "Decline"), (480, "Away"), (404, "Not Found")])
def test_the_caller_hears_what_the_only_phone_says(sleeper, phones, caller, user, status, reason, asterisk):
    plain = phones("158", asterisk.address)
    assert plain.register().status == 200
    expected = refuse(plain, caller.call("158"), status, reason)
    assert plain.register(expires=0).status == 200
    phone = sleeper()
    call = caller.call(user)
    assert refuse(phone.wait_and_wake(), call, status, reason) == expected
    nothing_is_left(asterisk)


def test_a_phone_forwards_by_the_dialplan(sleeper, phones, caller, user, asterisk):
    other = phones("159", asterisk.address)
    assert other.register().status == 200
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    awake.forward(awake.expect_request("INVITE"), "159")
    invite = other.expect_request("INVITE")
    take(call, other, invite)


def test_nobody_wakes_and_the_dialplan_goes_on(sleeper, caller, user, asterisk):
    phone = sleeper()
    since = len(asterisk.log())
    call = caller.call(f"mail{user}")
    call.expect(200, 8)
    assert 4.5 < time.monotonic() - call.started < 7
    assert "went on with" in asterisk.wait_log("went on with", since=since)
    call.end()
    assert len(phone.pushes) >= 1


def test_a_dial_that_ends_before_the_phone_wakes(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(f"short{user}")
    call.expect_final(480)
    asterisk.wait_log("went on with NOANSWER")
    wait_until("the end is pushed", lambda: len(phone.pushes) == 2)


def test_early_media_reaches_the_caller(sleeper, caller, user):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.reply(invite, 183, "Session Progress", SDP.format(port=40000))
    assert "m=audio" in call.phone.expect_response(call.call_id, "INVITE", least=183).body
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_a_connection_that_is_lost_while_the_phone_rings(sleeper, caller, user, asterisk):
    phone = sleeper(transport="tcp")
    call = caller.call(user)
    awake = phone.wait_and_wake()
    first = awake.expect_request("INVITE")
    awake.ring(first)
    call.expect(180)
    channels = asterisk.cli("core show channels concise").split("PJSIP/")[1:]
    awake.close()
    again = phone.wake()
    invite = again.expect_request("INVITE")
    assert invite["Call-ID"] == first["Call-ID"] and int(invite["CSeq"].split()[0]) > int(first["CSeq"].split()[0])
    assert [c.split("!")[0] for c in asterisk.cli("core show channels concise").split("PJSIP/")[1:]] == [c.split("!")[0] for c in channels]
    take(call, again, invite)


def test_a_phone_that_registers_again_gets_the_call_that_it_has_missed(sleeper, caller, user):
    """Over UDP PJSIP alone would send it for the third time a second later."""
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    first = awake.expect_request("INVITE")
    awake.expect_request("INVITE")
    assert awake.register(phone.parameters).status == 200
    registered = time.monotonic()
    again = awake.expect_request("INVITE")
    assert again.at - registered < 0.5 and again["Via"] == first["Via"]
    take(call, awake, again)


@pytest.mark.parametrize("status", [486, 408, 481])
def test_one_declines_and_another_wakes(sleeper, caller, user, status):
    first, second = sleeper(), sleeper()
    call = caller.call(user)
    awake = first.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.reply(invite, status, "Not Here")
    awake.expect_request("ACK")
    other = second.wait_and_wake()
    take(call, other, other.expect_request("INVITE"))


def test_the_companion_is_there_when_no_phone_is(sleeper, user, asterisk, phones):
    phone = sleeper(transport="tcp")
    wait_until("a companion", lambda: "transport=pushwake" in asterisk.cli(f"pjsip show aor {user}"), 5, 0.1)
    awake = phone.wake()
    assert "transport=pushwake" not in asterisk.cli(f"pjsip show aor {user}")
    phone.fall_asleep(awake)
    wait_until("a companion", lambda: "transport=pushwake" in asterisk.cli(f"pjsip show aor {user}"), 5, 0.1)
