# SPDX-License-Identifier: MIT
"""A call to a phone that sleeps, or was woken and rings, is picked up at a third phone."""

import re

import pytest
from servers import wait_until
from sleeper import fcm

# As the manual of older releases said, in a context of its own.
DIALPLAN = """
[desks]
exten => _1XX,1,Dial(Local/${EXTEN}@ringing,60,b(groups^s^1))
exten => 157,1,Goto(phones,157,1)
exten => *8,1,Pickup()
exten => _*8X.,1,Pickup(${EXTEN:2}@ringing)
exten => _*9X.,1,PickupChan(Local/${EXTEN:2}@ringing)
[groups]
exten => s,1,Set(CHANNEL(callgroup)=1)
 same => n,Set(CHANNEL(namedcallgroup)=sales)
 same => n,Return()
[ringing]
exten => _X.,1,Set(TO=${FILTER(0-9A-Za-z,${EXTEN})})
 same => n,PushWake(${TO},40,r)
 same => n,Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake)
 same => n,Hangup(20)
"""


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    from conftest import SAMPLE

    made = make_session_asterisk("pickup", extensions=SAMPLE.read_text() + DIALPLAN, start=False)
    made.add_modules("app_directed_pickup")
    # With its own *8 Asterisk tells nobody that the call was answered elsewhere.
    made.write("features.conf", "[general]\npickupexten =\n")
    made.change("pjsip.conf", "context = phones\n", "context = desks\n")
    members = {"157": "call_group = 2", "158": "pickup_group = 1,2", "159": "named_pickup_group = sales"}
    for user, groups in members.items():
        made.change("pjsip.conf", f"[{user}]\ntype = endpoint\n", f"[{user}]\ntype = endpoint\n{groups}\n")
    made.start()
    made.wait_engine()
    yield made
    made.stop()


@pytest.fixture
def third(phones, asterisk):
    """A phone that has picked up a call with what it dialled."""
    made = []

    def pick(dialled, user="158"):
        phone = phones(user, asterisk.address)
        made.append(phone)
        assert phone.register().status == 200
        phone.call(dialled, authenticate=True).expect(200)
        return phone

    yield pick
    # These users are not one test's, and have no more than five contacts.
    for phone in made:
        phone.register(expires=0)


def talk_and_end(asterisk, call, picker):
    """The caller talks to who picked up, and hangs up."""
    call.expect(200)
    call.end()
    picker.reply(picker.expect_request("BYE"), 200, "OK")
    wait_until("no channel is left", lambda: "0 active channels" in asterisk.cli("core show channels"))
    wait_until("nothing is held", lambda: held(asterisk) == 0)


def held(asterisk):
    shown = asterisk.cli("pushwake show stats")
    return int(re.search(r"^requests_held +(\d+)", shown, re.M)[1])


def events(phone):
    return [push["body"]["message"]["data"]["event"] for push in phone.pushes]


WAYS = [("*8{}", "158"), ("*9{}", "158"), ("*8", "158"), ("*8", "159")]


@pytest.mark.parametrize("dialled, by", WAYS)
def test_a_call_that_waits_for_its_phone_is_picked_up(asterisk, caller, sleeper, third, user, dialled, by):
    phone = sleeper(fcm)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    picker = third(dialled.format(user), by)
    talk_and_end(asterisk, call, picker)
    # Its user is not told of a missed call.
    wait_until("the phone is told", lambda: events(phone) == ["call", "elsewhere"])
    assert "completed elsewhere after" in asterisk.cli(f"pushwake trace {user}")
    assert phone.wake().gets_nothing("INVITE", 0.3)


@pytest.mark.parametrize("dialled, by", WAYS)
def test_a_call_that_rings_a_woken_phone_is_picked_up(asterisk, caller, sleeper, third, user, dialled, by):
    phone = sleeper(fcm)
    call = caller.call(user)
    rings_until_picked_up(asterisk, call, phone, lambda: third(dialled.format(user), by))
    assert "completed elsewhere after" in asterisk.cli(f"pushwake trace {user}")


def test_a_woken_phone_is_in_the_group_of_its_endpoint(asterisk, caller, sleeper, third):
    phone = sleeper(fcm, of="157")
    rings_until_picked_up(asterisk, caller.call("157"), phone, lambda: third("*8"))


def test_a_caller_who_hangs_up_while_a_woken_phone_rings_has_cancelled(asterisk, caller, sleeper, user):
    """The Local channel that began the call is the last to go: its Dial() takes the phone down before."""
    phone = sleeper(fcm, "tcp")
    for _ in range(8):
        call = caller.call(user)
        awake = phone.wait_and_wake() if not phone.pushes else awake
        invite = awake.expect_request("INVITE")
        awake.ring(invite)
        call.expect(180)
        call.cancel()
        awake.reply(awake.expect_request("CANCEL"), 200, "OK")
        awake.reply(invite, 487, "Request Terminated")
        awake.expect_request("ACK")
        wait_until("it has ended", lambda: held(asterisk) == 0)
    shown = re.findall(r"^INVITE to .* ago: (.*) after", asterisk.cli(f"pushwake trace {user}"), re.M)
    assert shown == ["cancelled"] * 8


def rings_until_picked_up(asterisk, call, phone, pick):
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    call.expect(180)
    picker = pick()
    cancel = awake.expect_request("CANCEL")
    assert 'SIP;cause=200;text="Call completed elsewhere"' in cancel.all("Reason")
    awake.reply(cancel, 200, "OK")
    awake.reply(invite, 487, "Request Terminated")
    awake.expect_request("ACK")
    talk_and_end(asterisk, call, picker)
    assert events(phone) == ["call"]
