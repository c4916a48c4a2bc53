# SPDX-License-Identifier: MIT
"""Plain Dial() while no engine answers: waiting legs go on by themselves."""

import os
import signal
import time

import pytest
from servers import wait_until
from sleeper import fcm
from test_plain_dial import DIALPLAN, nothing_is_left, take


@pytest.fixture
def asterisk(make_asterisk):
    return make_asterisk(extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 12, "engine_timeout": 100})


def stop_engine(asterisk):
    pid = asterisk.engine_pid()
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_a_phone_that_was_pushed_rings_when_it_registers(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    call.expect(180)
    asterisk.kill_engine()
    awake = phone.wake()
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)


def test_the_next_engine_goes_on(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    call.expect(180)
    asterisk.kill_engine()
    asterisk.wait_engine()
    call.cancel()
    wait_until("the end is pushed", lambda: len(phone.pushes) == 2)
    assert "cancel" in str(phone.pushes[1]["body"])


def test_a_call_that_comes_in_the_gap_is_pushed_by_the_next_engine(sleeper, caller, user, asterisk):
    phone = sleeper()
    asterisk.kill_engine()
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    awake = phone.wake()
    take(call, awake, awake.expect_request("INVITE"))


def test_a_refusal_is_the_answer_while_the_engine_hangs(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    pid = stop_engine(asterisk)
    awake.reply(invite, 486, "Busy Here")
    awake.expect_request("ACK")
    started = time.monotonic()
    call.expect_final(486)
    assert time.monotonic() - started < 2
    os.kill(pid, signal.SIGCONT)
    assert awake.gets_nothing("INVITE", 1)


def test_a_phone_that_is_awake_rings_while_the_engine_hangs(phones, caller, user, asterisk):
    phone = phones(user, asterisk.address, "tcp")
    assert phone.register(fcm("token-of-nobody")).status == 200
    pid = stop_engine(asterisk)
    call = caller.call(user)
    invite = phone.expect_request("INVITE")
    assert invite.at - call.started < 1
    take(call, phone, invite)
    os.kill(pid, signal.SIGCONT)
    nothing_is_left(asterisk)


def test_nobody_waits_for_an_engine_that_does_not_come(sleeper, caller, user, asterisk):
    phone = sleeper(transport="tcp")
    pid = stop_engine(asterisk)
    call = caller.call(user)
    response = call.final(5)
    assert 1.8 < time.monotonic() - call.started < 4 and response.status == 480, response
    os.kill(pid, signal.SIGCONT)
    nothing_is_left(asterisk)
    assert phone.registered
