# SPDX-License-Identifier: MIT
"""How a call ends, for the caller and for phones that were pushed for it."""

import json
import time

import pytest
from servers import wait_until
from sleeper import apns, fcm, finish


def events(phone):
    return [push["body"]["message"]["data"]["event"] for push in phone.pushes]


def data(push):
    return push["body"]["message"]["data"]


@pytest.fixture
def ringing(sleeper, desk, caller, user, asterisk):
    """A call that rings at a desk phone while a mobile one sleeps."""
    phone = sleeper(fcm)
    call = caller.call(user)
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    call.expect(180)
    phone.simulator.wait_push(phone.token)
    wait_until("the push is taken", lambda: "accepted" in asterisk.cli(f"pushwake trace {call.call_id}"))
    return phone, desk, call, invite


def test_answered_by_another(ringing):
    phone, desk, call, invite = ringing
    desk.answer(invite)
    call.expect(200)
    wait_until("it hears of it", lambda: events(phone) == ["call", "elsewhere"])
    call.end()
    time.sleep(0.3)
    assert events(phone) == ["call", "elsewhere"]


def test_cancelled_by_the_caller(ringing):
    phone, _, call, _ = ringing
    call.cancel()
    wait_until("it hears of it", lambda: events(phone) == ["call", "cancel"])
    call_push, cancel_push = (data(push) for push in phone.pushes)
    assert call_push["call-id"] == cancel_push["call-id"] == call.call_id
    assert "The Caller" in json.dumps(cancel_push)


@pytest.mark.parametrize("cause", [200, 600])
def test_completed_elsewhere_says_the_caller_s_server(ringing, cause):
    """Another server that forks the call cancels it because somebody has picked up, or declined for all (RFC 3326)."""
    phone, desk, call, _ = ringing
    call.cancel([("Reason", f'SIP;cause={cause};text="Call completed elsewhere"')])
    desk.expect_request("CANCEL")
    wait_until("it hears of it", lambda: events(phone) == ["call", "elsewhere"])


def test_cancelled_by_the_caller_while_a_phone_rings_that_has_moved_since(sleeper, caller, user):
    """Over UDP its CANCEL goes where it was."""
    phone = sleeper(fcm)
    call = caller.call(user)
    awake = phone.wait_and_wake()
    phone.ring(awake)
    phone.move(awake)
    awake.close()
    call._send("CANCEL", call.target, call.cseq, call.branch)
    wait_until("the end is pushed", lambda: len(phone.pushes) == 2)
    assert "cancel" in str(phone.pushes[1]["body"])


def test_declined_and_nobody_else_comes(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 20, "decline_waits": 1})
    phone = sleeper(fcm, at=asterisk, of="100")
    desk = phones("100", asterisk.address)
    desk.register()
    call = phones("caller", asterisk.address).call("100")
    invite = desk.expect_request("INVITE")
    phone.simulator.wait_push(phone.token)
    desk.ring(invite)
    desk.reply(invite, 486, "Busy Here")
    declined = time.monotonic()
    call.expect_final(486)
    assert 0.8 < time.monotonic() - declined < 1.5
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"])


def test_declined_for_all(ringing):
    """A 6xx speaks for the user (RFC 3261, 16.7): nobody is waited for."""
    phone, desk, call, invite = ringing
    desk.reply(invite, 603, "Decline")
    started = time.monotonic()
    call.final()
    assert time.monotonic() - started < 1
    wait_until("it hears of it", lambda: len(phone.pushes) == 2)
    assert "declined" in json.dumps(data(phone.pushes[1])).lower()


def test_nobody_comes_in_time(sleeper, caller, user, asterisk):
    phone = sleeper(fcm)
    asterisk.add_extension(f"brief-{user}", f"PushWake({user},1)", "Hangup(20)")
    call = caller.call(f"brief-{user}")
    call.expect_final(480)
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"])


def test_nobody_answers_and_the_call_goes_to_voicemail(sleeper, desk, caller, user, asterisk):
    """The phone that rang knows; the one that slept has missed the call, whatever the caller does next."""
    phone = sleeper(fcm)
    asterisk.add_extension(
        f"vm-{user}", f"PushWake({user},2)", f"Dial(${{PUSHWAKE_CONTACTS}}&Local/join@pushwake,3)",
        "Verbose(0,to voicemail after ${DIALSTATUS})", "Answer()", "Wait(1)", "Hangup()")  # fmt: skip
    call = caller.call(f"vm-{user}")
    desk.ring(desk.expect_request("INVITE"))
    desk.expect_request("CANCEL", 5)
    call.expect(200)
    call.end()
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"])


@pytest.fixture
def in_a_mailbox(sleeper, desk, caller, user, asterisk):
    """The caller has left Dial() for a mailbox, while a phone still sleeps that is awaited for so many seconds."""
    def make(parameters, seconds):
        phone = sleeper(parameters)
        asterisk.add_extension(
            f"box-{user}", f"PushWake({user},{seconds})", f"Dial(${{PUSHWAKE_CONTACTS}}&Local/join@pushwake,2)",
            "Answer()", "Wait(30)", "Hangup()")  # fmt: skip
        call = caller.call(f"box-{user}")
        invite = desk.expect_request("INVITE")
        desk.ring(invite)
        phone.simulator.wait_push(phone.token)
        desk.expect_request("CANCEL", 5)
        desk.reply(invite, 487, "Request Terminated")
        call.expect(200)
        return phone, call

    return make


def test_a_phone_that_wakes_while_its_caller_is_in_a_mailbox_is_shown_the_end(in_a_mailbox):
    phone, call = in_a_mailbox(apns, 20)
    awake = phone.wake()
    invite = awake.expect_request("INVITE", 5)
    awake.ring(invite)
    awake.expect_request("CANCEL", 5)
    awake.reply(invite, 487, "Request Terminated")
    call.end()


def test_a_phone_that_wakes_while_its_caller_is_in_a_mailbox_has_missed_the_call(in_a_mailbox):
    phone, call = in_a_mailbox(fcm, 20)
    phone.wake()
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"], 5)
    call.end()


def test_a_phone_that_stays_away_has_missed_the_call_when_its_time_is_up(in_a_mailbox):
    phone, call = in_a_mailbox(fcm, 4)
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"], 8)
    call.end()


def test_a_caller_who_is_led_elsewhere_during_an_announcement_has_not_reached_the_phone(sleeper, caller, user, asterisk):
    """AMI's Redirect, and what else moves a channel in the dialplan."""
    phone = sleeper(fcm)
    asterisk.add_extension(f"else-{user}", "Answer()", "Wait(30)", "Hangup()")
    asterisk.add_extension(f"waits-{user}", f"PushWake({user},3)", "Wait(20)", "Dial(${PUSHWAKE_CONTACTS})", "Hangup(20)")
    call = caller.call(f"waits-{user}")
    phone.simulator.wait_push(phone.token)
    wait_until("the push is taken", lambda: "accepted" in asterisk.cli(f"pushwake trace {call.call_id}"))
    channel, = [line.split("!")[0] for line in asterisk.cli("core show channels concise").splitlines() if f"waits-{user}" in line]
    asterisk.cli(f"channel redirect {channel} phones,else-{user},1")
    call.expect(200)
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"], 5)
    call.end()


@pytest.mark.parametrize("steps, cancels, told", [
    (["Hangup(20)"], False, "missed"), (["Dial(PJSIP/nobody,10)", "Hangup(20)"], False, "missed"),
    (["Wait(10)"], True, "cancel")], ids=["no Dial", "a Dial that fails", "a hang-up"])
def test_a_phone_that_came_and_was_not_called_hears_of_the_end(sleeper, caller, user, asterisk, steps, cancels, told):
    """Asterisk stops, has no room for a channel, or the dialplan does something else."""
    phone = sleeper(fcm)
    asterisk.add_extension(f"none-{user}", f"PushWake({user},10)", *steps)
    call = caller.call(f"none-{user}")
    phone.wait_and_wake()
    if cancels:
        asterisk.wait_log(f"none-{user}@phones:2")
        call.cancel()
    else:
        call.expect_final(480)
    wait_until("it hears of the end", lambda: events(phone) == ["call", told], 5)


@pytest.mark.parametrize("status, reason, state, cause, heard", [
    (486, "Busy Here", "BUSY", 17, 486), (404, "Not Found", "CHANUNAVAIL", 1, 404), (603, "Decline", "CHANUNAVAIL", 21, 403)])
def test_the_dialplan_hears_what_the_phone_has_said(sleeper, caller, user, asterisk, status, reason, state, cause, heard):
    """And not what the leg says through which phones join: it ends at the same time."""
    asterisk.add_extension(f"says-{user}", f"PushWake({user},10)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake/n,20)",
                           "Verbose(0,heard ${DIALSTATUS} ${HANGUPCAUSE})", "Hangup(${HANGUPCAUSE})")
    for _ in range(5):
        phone, before = sleeper(fcm), len(asterisk.log())
        call = caller.call(f"says-{user}")
        awake = phone.wait_and_wake()
        awake.reply(awake.expect_request("INVITE"), status, reason)
        assert call.final().status == heard
        assert f"heard {state} {cause}" in asterisk.wait_log("heard ", since=before)
        awake.register(phone.parameters, expires=0)
        asterisk.cli(f"pushwake remove bindings {user}")


@pytest.mark.parametrize("of", ["the extension h", "a hangup handler"])
def test_nobody_is_woken_for_a_caller_who_has_hung_up(sleeper, caller, user, asterisk, of):
    """The dialplan of FreePBX and the like runs much there."""
    phone, before = sleeper(fcm), len(asterisk.log())
    steps = [f"PushWake({user},5,r)", "Verbose(0,went on with ${PUSHWAKE_STATUS})", "Return()"]
    place = "h" if "extension" in of else "handler"
    with open(asterisk.host_at / "etc/extensions.conf", "a") as file:
        file.write(f"\n[over-{user}]\nexten => s,1,Set(CHANNEL(hangup_handler_push)=over-{user},handler,1)\n same => n,Answer()\n"
                   " same => n,Wait(30)\n")
        file.write("".join(f"exten => {place},{number},{step}\n" for number, step in enumerate(steps, 1)))
        file.write("exten => handler,1,Return()\n" if place == "h" else "")
    asterisk.add_extension(f"over-{user}", f"Goto(over-{user},s,1)")
    call = caller.call(f"over-{user}")
    call.expect(200)
    call.end()
    log = asterisk.wait_log("went on with FAILED", since=before)
    assert f"PushWake({user}) wakes nobody once its caller has hung up" in log
    assert phone.pushes == [] and "none of the last" in asterisk.cli(f"pushwake trace {user}")


def test_the_caller_hangs_up_before_anybody_is_silent(frozen, caller, user):
    phone = frozen(fcm)
    call = caller.call(user)
    phone.socket.expect_request("INVITE")
    call.cancel()
    time.sleep(2)
    assert phone.pushes == []


@pytest.fixture
def too_late(sleeper, caller, user, asterisk):
    """The phone is there, and its caller has hung up before its INVITE went out."""
    def make(parameters):
        phone = sleeper(parameters)
        asterisk.add_extension(f"gap-{user}", f"PushWake({user},20)", "Wait(10)", "Dial(${PUSHWAKE_CONTACTS})")
        call = caller.call(f"gap-{user}")
        awake = phone.wait_and_wake()
        wait_until("the dialplan has it", lambda: "!Wait!" in asterisk.cli("core show channels concise"))
        call.cancel()
        return phone, awake

    return make


def test_a_phone_that_comes_as_its_caller_hangs_up_is_shown_the_end(too_late):
    _, awake = too_late(apns)
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    assert any("cause=487" in reason for reason in awake.expect_request("CANCEL").all("Reason"))
    awake.reply(invite, 487, "Request Terminated")


def test_a_phone_that_comes_as_its_caller_hangs_up_is_told_by_push(too_late):
    phone, _ = too_late(fcm)
    wait_until("it hears of it", lambda: events(phone) == ["call", "cancel"])


@pytest.mark.parametrize("status", [180, 183])
def test_the_caller_hears_that_a_push_is_on_its_way(make_asterisk, sleeper, phones, status):
    asterisk = make_asterisk(settings={"wake_provisional": status, "wake_timeout": 10})
    asterisk.add_extension("quiet", "PushWake(100)", "Dial(${PUSHWAKE_CONTACTS},10)", "Hangup()")
    phone = sleeper(at=asterisk, of="100")
    call = phones("caller", asterisk.address).call("quiet")
    response = call.phone.expect(lambda m: not m.is_request and m.method == "INVITE" and m.status == status, 3)
    assert "tag=" in response["To"]
    awake = phone.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_the_same_push_says_the_same_call_id_for_every_leg(sleeper, caller, user):
    first, second = sleeper(fcm), sleeper(fcm)
    call = caller.call(user)
    ids = {data(phone.simulator.wait_push(phone.token))["call-id"] for phone in (first, second)}
    assert ids == {call.call_id}
    call.cancel()


def test_a_dialplan_that_rings_the_next_user_is_through_with_the_first(sleeper, desk, phones, caller, user, asterisk):
    phone, other = sleeper(fcm), phones("159", asterisk.address)
    assert other.register().status == 200
    asterisk.add_extension(
        f"hunt-{user}", f"PushWake({user},20)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake/n,2)",
        "PushWake(159,20)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake/n,10)", "Hangup(20)")  # fmt: skip
    call = caller.call(f"hunt-{user}")
    rung = desk.expect_request("INVITE")
    desk.ring(rung)
    phone.simulator.wait_push(phone.token)
    desk.expect_request("CANCEL", 5)
    desk.reply(rung, 487, "Request Terminated")
    next_rung = other.expect_request("INVITE", 5)
    other.ring(next_rung)
    awake = phone.wake()
    wait_until("it hears of it", lambda: events(phone) == ["call", "missed"], 5)
    assert awake.gets_nothing("INVITE", 0.3)
    finish(call, other, next_rung)
