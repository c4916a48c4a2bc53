# SPDX-License-Identifier: MIT
"""Many calls that wait at once, and what happens in the same moment."""

import random
import time

import pytest
from servers import wait_until
from sleeper import Sleeper, apns
from test_plain_dial import DIALPLAN, nothing_is_left, take


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("many", extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 6, "ignore_same": 0})
    yield made
    made.stop()


def test_forty_calls_wait_and_end(phones, simulator, asterisk):
    sleepers = [Sleeper(phones, asterisk, simulator, str(number)) for number in range(100, 120)]
    caller = phones("caller", asterisk.address)
    calls = [caller.call(sleepers[index % 20].user) for index in range(40)]
    for call in calls:
        call.expect(180, 10)
    assert {call.final(15).status for call in calls} == {480}
    nothing_is_left(asterisk)


def test_the_caller_hangs_up_as_the_phone_registers(sleeper, phones, caller, user, asterisk):
    """However the two fall: the caller hears 487, and a phone that got the INVITE hears of its end."""
    phone = sleeper()
    rang = 0
    for number in range(60):
        call = caller.call(user)
        call.expect(180)
        awake = phone._phone()
        awake.instance = phone.instance
        delay = random.uniform(0, 0.006)
        if number % 2:
            awake.register(phone.parameters)
            time.sleep(delay)
            call._send("CANCEL", call.target, call.cseq, call.branch)
        else:
            awake.start_register(phone.parameters)
            time.sleep(delay)
            call._send("CANCEL", call.target, call.cseq, call.branch)
        while True:
            try:
                request = awake.expect(lambda m: m.is_request, 0.4)
            except AssertionError:
                break
            if request.method == "INVITE":
                invite = request
                awake.ring(invite)
                rang += 1
            elif request.method == "CANCEL":
                awake.reply(request, 200, "OK")
                awake.reply(invite, 487, "Request Terminated")
        assert call.final().status == 487
        awake.close()
    assert rang
    nothing_is_left(asterisk)


def test_the_phone_moves_again_and_again(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    for _ in range(4):
        invite = awake.expect_request("INVITE")
        awake.ring(invite)
        moved = phone.wake()
        invite = moved.expect_request("INVITE")
        cancel = awake.expect_request("CANCEL")
        awake.reply(cancel, 200, "OK")
        awake = moved
        awake.queue.insert(0, invite)
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)


def test_an_old_leg_that_answers_late_is_hung_up(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    old = awake.expect_request("INVITE")
    moved = phone.wake()
    invite = moved.expect_request("INVITE")
    awake.answer(old)
    bye = awake.expect_request("BYE")
    awake.reply(bye, 200, "OK")
    take(call, moved, invite)
    nothing_is_left(asterisk)
