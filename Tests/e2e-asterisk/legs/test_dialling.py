# SPDX-License-Identifier: MIT
"""What else of Asterisk dials phones: queues, pickup, transfers, Originate, Page. None of it is changed."""

import time

import pytest
from servers import wait_until
from sleeper import fcm
from test_plain_dial import DIALPLAN, nothing_is_left, take

MORE = """
exten => _q1XX,1,Answer()
 same => n,Queue(sales${EXTEN:1},,,,20)
exten => _hint1XX,hint,PJSIP/${EXTEN:4}
exten => pickup,1,Pickup(PICKUPMARK@PICKUPMARK)
exten => _p1XX,1,PickupChan(PJSIP/${EXTEN:1},p)
exten => _page1XX,1,Page(PJSIP/${EXTEN:4})
exten => talk,1,Answer()
 same => n,Echo()
"""

QUEUES = "[general]\n" + "".join(
    f"[sales{number}]\nstrategy = ringall\ntimeout = 15\nretry = 1\nringinuse = no\nmember => PJSIP/{number}\n"
    for number in range(100, 130)
)


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk(
        "dialling", extensions=DIALPLAN + MORE, settings={"wait": "leg", "wake_timeout": 10}, start=False)
    made.add_modules("app_page", "app_directed_pickup", "app_confbridge", "app_chanspy", "res_pjsip_refer", "app_originate")
    made.write("queues.conf", QUEUES)
    made.write("confbridge.conf", "")
    made.start()
    made.wait_engine()
    yield made
    made.stop()


def state(asterisk, user):
    """Asterisk's own device state of the endpoint, as hints and queues have it."""
    return asterisk.cli(f"dialplan eval function DEVICE_STATE(PJSIP/{user})").split("Result:")[-1].split()[0]


def test_a_queue_wakes_its_member(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(f"q{user}")
    call.expect(200)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    wait_until("they talk", lambda: asterisk.cli("core show channels concise").count("!Up!") >= 2, 5, 0.1)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_originate_wakes(sleeper, user, asterisk):
    phone = sleeper()
    asterisk.cli(f"channel originate PJSIP/{user} extension talk@phones")
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    wait_until("the phone is in the dialplan", lambda: "Echo" in asterisk.cli("core show channels"), 5, 0.1)
    assert awake.end(invite).status == 200
    nothing_is_left(asterisk)


def test_page_wakes(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(f"page{user}")
    call.expect(200)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.answer(invite)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_a_call_that_waits_is_picked_up(sleeper, phones, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    call.expect(180)
    other = phones("caller", asterisk.address)
    taker = other.call(f"p{user}")
    taker.expect(200)
    call.expect(200)
    wait_until("the phone hears that it was answered elsewhere", lambda: len(phone.pushes) == 2)
    assert "elsewhere" in str(phone.pushes[1]["body"])
    call.end()
    other.reply(other.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_the_hint_is_free_while_the_phone_sleeps_and_rings_while_it_wakes(sleeper, caller, user, asterisk):
    phone = sleeper(transport="tcp")
    wait_until("the phone is free", lambda: state(asterisk, user) == "NOT_INUSE", 5, 0.1)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    wait_until("the phone rings", lambda: state(asterisk, user) == "RINGING", 5, 0.1)
    awake = phone.wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    assert state(asterisk, user) == "RINGING"
    awake.answer(invite)
    call.expect(200)
    wait_until("the phone is in use", lambda: state(asterisk, user) == "INUSE", 5, 0.1)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    wait_until("the phone is free", lambda: state(asterisk, user) == "NOT_INUSE", 5, 0.1)


def test_a_blind_transfer_to_a_phone_that_sleeps(sleeper, phones, caller, user, asterisk):
    phone = sleeper()
    desk = phones("159", asterisk.address)
    assert desk.register().status == 200
    call = caller.call("159")
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    desk.answer(invite)
    call.expect(200)
    wait_until("they talk", lambda: " 2 " in asterisk.cli("bridge show all"), 5, 0.1)
    assert desk.refer(invite, user).status == 202
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    time.sleep(0.2)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_two_phones_of_one_user_ring_by_turns(sleeper, phones, caller, user, asterisk):
    first, second = sleeper(), sleeper()
    call = caller.call(user)
    awake = first.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    other = second.wake()
    assert other.gets_nothing("INVITE", 0.5)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_two_users_ring_together(sleeper, caller, user, asterisk, phones):
    first, second = sleeper(), sleeper(of="150")
    asterisk.add_extension(f"both{user}", f"Dial(PJSIP/{user}&PJSIP/150,20)")
    call = caller.call(f"both{user}")
    one, two = first.wait_and_wake(), second.wait_and_wake()
    here, there = one.expect_request("INVITE"), two.expect_request("INVITE")
    one.ring(here)
    two.ring(there)
    one.answer(here)
    call.expect(200)
    assert any("cause=200" in reason for reason in two.expect_request("CANCEL").all("Reason"))
    call.end()
