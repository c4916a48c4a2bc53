# SPDX-License-Identifier: MIT
"""Asterisk alone: a phone that sleeps is pushed, wakes, registers and rings."""

import time

import pytest
from servers import wait_until
from sleeper import apns, fcm, finish

TRANSPORTS = ["udp", "tcp"]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("parameters", [apns, fcm])
def test_a_sleeping_phone_rings(sleeper, caller, user, transport, parameters):
    phone = sleeper(parameters, transport)
    call = caller.call(user)
    call.expect(180)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert invite.at - awake.woken_at < 0.5
    assert "pn-" not in invite.uri and phone.token not in invite.raw
    # The push names the call so.
    assert invite["X-Push-ID"] == call.call_id != invite["Call-ID"]
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    assert len(phone.pushes) == 1


def test_the_push_names_call_and_caller(sleeper, caller, user):
    phone = sleeper()
    call = caller.call(user)
    push = phone.simulator.wait_push(phone.token)
    assert call.call_id in str(push["body"])
    assert "The Caller" in str(push["body"])
    call.expect(180)
    call.cancel()


@pytest.mark.alone
def test_wake_to_invite_is_quick(sleeper, caller, user, asterisk):
    phone = sleeper()
    delays = []
    for _ in range(10):
        before = len(asterisk.log())
        call = caller.call(user)
        call.expect(180)
        asterisk.wait_log("is ringing", since=before)
        awake = phone._phone()
        awake.instance = phone.instance
        awake.register(phone.parameters)
        registered_at = time.monotonic()
        invite = awake.expect_request("INVITE")
        delays.append(invite.at - registered_at)
        awake.reply(invite, 486, "Busy Here")
        call.expect_final(486)
        awake.close()
    assert sorted(delays)[5] < 0.02, delays


def test_nobody_wakes_and_the_dialplan_goes_on(sleeper, caller, user, asterisk):
    phone = sleeper()
    asterisk.add_extension(
        f"nobody-{user}", f"PushWake({user},1)", "Dial(${PUSHWAKE_CONTACTS},20)", "Verbose(0,went on with ${DIALSTATUS})", "Hangup(20)")
    call = caller.call(f"nobody-{user}")
    call.expect_final(480)
    assert 0.9 < time.monotonic() - call.started < 4
    asterisk.wait_log("went on with ")
    assert len(phone.pushes) == 1


def test_the_caller_hangs_up_while_it_waits(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    call = caller.call(user)
    call.expect(180)
    phone.simulator.wait_push(phone.token)
    call.cancel()
    awake = phone.wake()
    assert awake.gets_nothing("INVITE", 0.5)
    assert "0 active channels" in asterisk.cli("core show channels count")


def shown_end(phone):
    """The Reason headers of the CANCEL that follows an INVITE for a call that is over."""
    invite = phone.expect_request("INVITE")
    assert "The Caller" in invite["From"] or "caller" in invite["From"]
    assert invite["X-Push-ID"] and invite["X-Push-ID"] != invite["Call-ID"]
    phone.ring(invite)
    cancel = phone.expect_request("CANCEL")
    phone.reply(cancel, 200, "OK")
    phone.reply(invite, 487, "Request Terminated")
    phone.expect_request("ACK")
    return cancel.all("Reason")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_phone_that_comes_too_late_is_shown_the_end(sleeper, caller, user, transport, asterisk):
    phone = sleeper(transport=transport)
    call = caller.call(user)
    phone.simulator.wait_push(phone.token)
    call.cancel()
    assert any("cause=487" in reason for reason in shown_end(phone.wake()))
    wait_until("no channel is left", lambda: "0 active channels" in asterisk.cli("core show channels count"), 5, 0.1)


def test_a_phone_that_was_pushed_hears_of_the_hang_up(sleeper, caller, user):
    phone = sleeper(fcm)
    call = caller.call(user)
    call.expect(180)
    phone.simulator.wait_push(phone.token)
    call.cancel()
    wait_until("a second push", lambda: len(phone.pushes) == 2)
    assert "cancel" in str(phone.pushes[1]["body"])


def test_a_phone_that_was_pushed_hears_of_an_answer_elsewhere(sleeper, desk, caller, user):
    phone = sleeper(fcm)
    call = caller.call(user)
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    phone.simulator.wait_push(phone.token)
    desk.answer(invite)
    call.expect(200)
    wait_until("a second push", lambda: len(phone.pushes) == 2)
    assert "elsewhere" in str(phone.pushes[1]["body"]) or "cancel" in str(phone.pushes[1]["body"])
    call.end()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_who_is_awake_rings_at_once_and_the_sleeper_answers(sleeper, desk, caller, user, transport):
    phone = sleeper(transport=transport)
    call = caller.call(user)
    first = desk.expect_request("INVITE")
    desk.ring(first)
    call.expect(180)
    joined = phone.wait_and_wake()
    second = joined.expect_request("INVITE")
    joined.ring(second)
    joined.answer(second)
    call.expect(200)
    desk.expect_request("CANCEL")
    call.end()
    joined.reply(joined.expect_request("BYE"), 200, "OK")


def test_who_is_awake_answers_and_the_sleeper_is_left_alone(sleeper, desk, caller, user):
    phone = sleeper()
    call = caller.call(user)
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    phone.simulator.wait_push(phone.token)
    desk.answer(invite)
    call.expect(200)
    assert any("cause=200" in reason for reason in shown_end(phone.wake()))
    call.end()
    desk.reply(desk.expect_request("BYE"), 200, "OK")


def test_two_sleepers_wake_and_the_second_answers(sleeper, caller, user):
    first, second = sleeper(), sleeper(fcm)
    call = caller.call(user)
    early = first.wait_and_wake()
    ringing = early.expect_request("INVITE")
    early.ring(ringing)
    late = second.wait_and_wake()
    invite = late.expect_request("INVITE")
    late.ring(invite)
    late.answer(invite)
    call.expect(200)
    early.expect_request("CANCEL")
    call.end()
    late.reply(late.expect_request("BYE"), 200, "OK")


def test_a_phone_that_declines_ends_the_call_at_once(sleeper, caller, user):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    awake.reply(awake.expect_request("INVITE"), 486, "Busy Here")
    started = time.monotonic()
    call.expect_final(486)
    assert time.monotonic() - started < 1


def test_one_declines_and_the_other_answers_later(sleeper, caller, user, asterisk):
    first, second = sleeper(), sleeper(fcm)
    before = len(asterisk.log())
    call = caller.call(user)
    asterisk.wait_log("is ringing", since=before)
    early = first.wait_and_wake()
    early.reply(early.expect_request("INVITE"), 486, "Busy Here")
    early.expect_request("ACK")
    time.sleep(0.2)
    late = second.wait_and_wake()
    invite = late.expect_request("INVITE")
    late.answer(invite)
    call.expect(200)
    call.end()
    late.reply(late.expect_request("BYE"), 200, "OK")


def test_a_phone_without_push_is_called_as_ever(desk, caller, user):
    call = caller.call(user)
    desk.reply(desk.expect_request("INVITE"), 486, "Busy Here")
    started = time.monotonic()
    call.expect_final(486)
    assert time.monotonic() - started < 1


def test_a_user_with_neither_contact_nor_binding(caller, user, asterisk):
    call = caller.call(user)
    call.expect_final(480)
    asterisk.wait_log(f"{user}: NOBINDING")


def test_reload_during_a_call(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    call.expect(180)
    phone.simulator.wait_push(phone.token)
    assert "done" in asterisk.cli("pushwake reload")
    assert "reloaded" in asterisk.cli("module reload res_pushwake.so")
    awake = phone.wake()
    invite = awake.expect_request("INVITE")
    awake.answer(invite)
    call.expect(200)
    assert "done" in asterisk.cli("pushwake reload")
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_the_same_caller_calls_again_in_one_dialplan(sleeper, caller, user, asterisk, simulator):
    phone = sleeper()
    asterisk.add_extension(
        f"again-{user}", f"PushWake({user},5,r)", "Dial(${PUSHWAKE_CONTACTS},20,g)",
        f"PushWake({user},5,r)", "Dial(${PUSHWAKE_CONTACTS},20,g)", "Hangup()")  # fmt: skip
    call = caller.call(f"again-{user}")
    for round in (1, 2):
        wait_until(f"push {round}", lambda: len(phone.pushes) == round)
        awake = phone.wake()
        invite = awake.expect_request("INVITE")
        awake.answer(invite)
        if round == 1:
            call.expect(200)
        awake.end(invite)
        awake.close()
    caller.expect_request("BYE")


ROUND = ["PushWake({user},8,r)", "Dial(${{PUSHWAKE_CONTACTS}}&Local/join@pushwake,2)"]


def rings_and_is_given_up(phone, awake):
    """The dialplan's Dial() ends before anybody picks up."""
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    cancel = awake.expect_request("CANCEL", 5)
    awake.reply(cancel, 200, "OK")
    awake.reply(invite, 487, "Request Terminated")
    awake.expect_request("ACK")


@pytest.mark.parametrize("second", [
    ROUND,
    ["Dial(Local/{user}@agents,5)"],
    ["Dial(Local/{user}@agents&Local/nobody@agents,5)"],
], ids=["again", "as an agent", "in a group"])  # fmt: skip
@pytest.mark.parametrize("is_awake", [True, False])
def test_a_dialplan_rings_the_same_user_a_second_time(sleeper, caller, user, asterisk, second, is_awake):
    phone = sleeper(transport="tcp")
    asterisk.add_extension(f"twice-{user}", *[step.format(user=user) for step in ROUND + second], "Hangup(20)")
    awake = phone.wake() if is_awake else None
    call = caller.call(f"twice-{user}")
    awake = awake or phone.wait_and_wake()
    rings_and_is_given_up(phone, awake)
    invite = awake.expect_request("INVITE", 3)
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_a_phone_that_fell_asleep_again_is_pushed_for_the_second_time(sleeper, caller, user, asterisk):
    phone = sleeper(transport="tcp")
    asterisk.add_extension(
        f"later-{user}", *[step.format(user=user) for step in ROUND], "Wait(1)", *[step.format(user=user) for step in ROUND],
        "Hangup(20)")  # fmt: skip
    call = caller.call(f"later-{user}")
    awake = phone.wait_and_wake()
    rings_and_is_given_up(phone, awake)
    before = len(phone.pushes)
    phone.fall_asleep(awake)
    wait_until("it is pushed for the call again", lambda: len(phone.pushes) > before)
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))
