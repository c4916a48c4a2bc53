# SPDX-License-Identifier: MIT
"""PushWake() wakes phones while the dialplan plays something; the Dial() that follows goes on with that."""

import pytest
from servers import wait_until
from sleeper import fcm
from test_plain_dial import nothing_is_left, take

DIALPLAN = """
[phones]
exten => _1XX,1,Goto(said${EXTEN},1)
; An announcement of two seconds, then the phones.
exten => _said1XX,1,PushWake(${EXTEN:4},20)
 same => n,Verbose(0,${EXTEN:4} is ${PUSHWAKE_STATUS} ${PUSHWAKE_WOKEN_MS} ${PUSHWAKE_CONTACTS})
 same => n,Wait(2)
 same => n,Dial(${PUSHWAKE_CONTACTS},20)
 same => n,Verbose(0,went on with ${DIALSTATUS} ${HANGUPCAUSE})
 same => n,Hangup(20)
exten => _user1XX,1,PushWake(${EXTEN:4},20)
 same => n,Wait(1)
 same => n,Dial(PJSIP/${EXTEN:4},20)
exten => _each1XX,1,PushWake(${EXTEN:4},20)
 same => n,Wait(1)
 same => n,Dial(${PJSIP_DIAL_CONTACTS(${EXTEN:4})},20)
exten => _far1XX,1,PushWake(${EXTEN:3},20)
 same => n,Wait(1)
 same => n,Dial(Local/${EXTEN:3}@inner/n,20)
exten => _brief1XX,1,PushWake(${EXTEN:5},3)
 same => n,Dial(${PUSHWAKE_CONTACTS},20)
 same => n,Verbose(0,went on with ${DIALSTATUS} ${HANGUPCAUSE})
 same => n,Hangup(20)
exten => _twice1XX,1,PushWake(${EXTEN:5},20)
 same => n,Dial(${PUSHWAKE_CONTACTS},2)
 same => n,PushWake(${EXTEN:5},20)
 same => n,Dial(${PUSHWAKE_CONTACTS},20)
exten => _pair1XX,1,PushWake(${EXTEN:4}&159,20,r)
 same => n,Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake/n,20)
 same => n,Hangup(20)

[inner]
exten => _1XX,1,Dial(PJSIP/${EXTEN},20)

[pushwake]
exten => join,1,TryExec(PushWake(,,j))
 same => n,GotoIf($["${PUSHWAKE_CONTACTS}" = ""]?end)
 same => n,Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake,,${PUSHWAKE_DIAL})
 same => n,ExecIf($["${DIALSTATUS}" = "BUSY"]?Hangup(17))
 same => n(end),Hangup(${HANGUPCAUSE})
"""

WAYS = ["said", "user", "each", "far"]


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk(
        "ahead", extensions=DIALPLAN, settings={"wake_timeout": 20, "caller_pushes": 0, "device_pushes": 0})
    yield made
    made.stop()


def events(phone):
    return [push["body"]["message"]["data"]["event"] for push in phone.pushes]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("way", WAYS)
def test_the_phone_wakes_during_the_announcement(sleeper, caller, user, asterisk, way, transport):
    phone = sleeper(fcm, transport)
    call = caller.call(way + user)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert invite["X-Push-ID"] == call.call_id
    take(call, awake, invite)
    assert awake.gets_nothing("INVITE", 0.5)
    assert events(phone) == ["call"]
    nothing_is_left(asterisk)


@pytest.mark.parametrize("way", WAYS)
def test_the_phone_wakes_after_the_announcement(sleeper, caller, user, asterisk, way):
    phone = sleeper(fcm)
    call = caller.call(way + user)
    call.expect(180)
    awake = phone.wait_and_wake()
    take(call, awake, awake.expect_request("INVITE"))
    assert events(phone) == ["call"]
    nothing_is_left(asterisk)


def test_the_dialplan_is_told_what_is_known(sleeper, desk, caller, user, asterisk):
    before = len(asterisk.log())
    call = caller.call(f"said{user}")
    asterisk.wait_log(f"{user} is AWAKE 0 PJSIP/{user}/sip:{user}@", since=before)
    call.cancel()
    sleeper(fcm)
    desk.register(expires=0)
    before = len(asterisk.log())
    call = caller.call(f"said{user}")
    asterisk.wait_log(f"{user} is WAKING 0 PJSIP/{user}/sip:{user}@", since=before)
    call.cancel()
    before = len(asterisk.log())
    caller.call("said158")
    asterisk.wait_log("158 is NOBINDING 0", since=before)


def test_a_caller_who_hangs_up_during_the_announcement_has_cancelled(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(f"said{user}")
    phone.simulator.wait_push(phone.token)
    call.cancel()
    wait_until("it hears of it", lambda: events(phone) == ["call", "cancel"])
    nothing_is_left(asterisk)


def test_all_phones_that_wake_ring_and_the_first_answer_wins(sleeper, caller, user, asterisk):
    first, second = sleeper(fcm), sleeper(fcm)
    call = caller.call(f"said{user}")
    phones = []
    for phone in (first, second):
        phones.append(phone.wait_and_wake())
    invites = [phone.expect_request("INVITE") for phone in phones]
    for phone, invite in zip(phones, invites):
        phone.ring(invite)
    phones[1].answer(invites[1])
    call.expect(200)
    cancel = phones[0].expect_request("CANCEL")
    assert any("cause=200" in reason for reason in cancel.all("Reason"))
    phones[0].reply(cancel, 200, "OK")
    phones[0].reply(invites[0], 487, "Request Terminated")
    call.end()
    phones[1].reply(phones[1].expect_request("BYE"), 200, "OK")
    assert len(first.pushes) == len(second.pushes) == 1
    nothing_is_left(asterisk)


def test_the_time_to_wait_is_that_of_pushwake(sleeper, caller, user, asterisk):
    sleeper(fcm)
    before = len(asterisk.log())
    call = caller.call(f"brief{user}")
    call.expect_final(480, 6)
    asterisk.wait_log("went on with ", since=before)
    nothing_is_left(asterisk)


def test_a_dialplan_that_tries_again_pushes_again(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(f"twice{user}")
    wait_until("it is pushed again", lambda: events(phone).count("call") == 2, 8)
    awake = phone.wake()
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)


def test_a_group_rings_through_the_printed_dialplan(sleeper, caller, user, asterisk):
    one, other = sleeper(fcm), sleeper(fcm, of="159")
    call = caller.call(f"pair{user}")
    call.expect(180)
    phones = [one.wait_and_wake(), other.wait_and_wake()]
    invites = [phone.expect_request("INVITE") for phone in phones]
    for phone, invite in zip(phones, invites):
        phone.ring(invite)
    phones[0].answer(invites[0])
    call.expect(200)
    phones[1].expect_request("CANCEL")
    phones[1].reply(invites[1], 487, "Request Terminated")
    call.end()
    phones[0].reply(phones[0].expect_request("BYE"), 200, "OK")
    assert len(one.pushes) == len(other.pushes) == 1
