# SPDX-License-Identifier: MIT
"""Phones that Dial() calls in vain: they are pushed, and ring where they are now."""

import time

import pytest
from phones import apns_token, fcm_token
from servers import wait_until
from sleeper import apns, fcm, finish

TRANSPORTS = ["udp", "tcp"]
# settings.md: silent_after
SILENT_AFTER = 1.5


@pytest.fixture(scope="module")
def trusting(make_session_asterisk):
    """Phones that registered a moment ago count as awake, and a contact keeps the address that its phone gives."""
    asterisk = make_session_asterisk("trusting", settings={"awake_for": 60}, start=False)
    text = (asterisk.host_at / "etc/pjsip.conf").read_text()
    asterisk.write("pjsip.conf", text.replace("rewrite_contact = yes", "rewrite_contact = no"))
    asterisk.start()
    asterisk.wait_engine()
    yield asterisk
    asterisk.stop()


@pytest.fixture
def trusting_caller(phones, trusting):
    return phones("caller", trusting.address)


@pytest.mark.parametrize("parameters", [apns, fcm])
def test_a_phone_whose_app_is_suspended_is_pushed_and_rings_at_its_new_connection(frozen, caller, user, parameters):
    phone = frozen(parameters)
    call = caller.call(user)
    push = phone.simulator.wait_push(phone.token)
    assert SILENT_AFTER - 0.2 < time.monotonic() - call.started < SILENT_AFTER + 0.7
    assert call.call_id in str(push["body"])
    awake = phone.wake()
    invite = awake.expect_request("INVITE")
    assert invite.at - awake.woken_at < 0.5
    finish(call, awake, invite)
    assert awake.gets_nothing("INVITE", 0.3)
    assert len(phone.pushes) == 1


def test_a_datagram_that_nobody_takes_is_as_good_as_no_answer(sleeper, trusting, trusting_caller, user):
    phone = sleeper(at=trusting)
    call = trusting_caller.call(user)
    phone.simulator.wait_push(phone.token)
    assert time.monotonic() - call.started > SILENT_AFTER - 0.2
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))


def test_a_phone_that_comes_back_before_it_is_silent_needs_no_push(frozen, caller, user):
    phone = frozen()
    call = caller.call(user)
    phone.socket.expect_request("INVITE")
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))
    time.sleep(SILENT_AFTER)
    assert phone.pushes == []


def test_a_phone_that_says_100_is_not_silent(frozen, caller, user):
    phone = frozen()
    call = caller.call(user)
    invite = phone.socket.expect_request("INVITE")
    phone.socket.reply(invite, 100, "Trying")
    time.sleep(SILENT_AFTER + 0.5)
    assert phone.pushes == []
    finish(call, phone.socket, invite)


def test_a_phone_whose_connection_ends_while_it_is_dialled_is_pushed_at_once(frozen, caller, user, asterisk):
    phone = frozen()
    call = caller.call(user)
    phone.socket.expect_request("INVITE")
    # Until PJSIP has noted over which connection the INVITE went, it does not miss that connection: an end in that
    # millisecond counts as silence.
    asterisk.wait_log(f"Called PJSIP/{user}")
    phone.socket.close()
    phone.simulator.wait_push(phone.token)
    assert time.monotonic() - call.started < 1
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))


def test_a_suspended_phone_joins_another_that_rings(frozen, desk, caller, user):
    phone = frozen()
    call = caller.call(user)
    first = desk.expect_request("INVITE")
    desk.ring(first)
    call.expect(180)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    assert any("cause=200" in reason for reason in desk.expect_request("CANCEL").all("Reason"))
    call.end()


def test_a_suspended_phone_joins_after_another_has_declined(frozen, desk, caller, user):
    phone = frozen()
    call = caller.call(user)
    desk.reply(desk.expect_request("INVITE"), 486, "Busy Here")
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    finish(call, awake, invite)


def test_the_leg_that_was_replaced_hides_no_decline(frozen, caller, user):
    phone = frozen()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    awake.reply(awake.expect_request("INVITE"), 486, "Busy Here")
    started = time.monotonic()
    call.expect_final(486)
    assert time.monotonic() - started < 1


def test_a_phone_whose_connection_breaks_while_it_rings_is_waited_for(sleeper, caller, user):
    """From Wi-Fi to mobile data, say: nobody has declined."""
    phone = sleeper(fcm, transport="tcp")
    call = caller.call(user)
    first = phone.wait_and_wake()
    first.ring(first.expect_request("INVITE"))
    call.expect(180)
    first.close()
    phone.asterisk.wait_log(f":{first.port};transport=TCP' from AOR '{user}' due to shutdown")
    again = phone.wake()
    again.answer(again.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_a_suspended_phone_that_stays_away_leaves_the_caller_with_480(make_asterisk, frozen, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 3})
    phone = frozen(fcm, at=asterisk, of="100")
    asterisk.add_extension("away", "PushWake(100,3)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake,30)",
                           "Verbose(0,dialled in vain: ${DIALSTATUS})", "Hangup(20)")  # fmt: skip
    call = phones("caller", asterisk.address).call("away")
    call.expect_final(480, 8)
    assert 2.8 < time.monotonic() - call.started < 5
    wait_until("it hears that it missed the call", lambda: len(phone.pushes) == 2)
    assert '"missed"' in str(phone.pushes[1]).replace("'", '"')


@pytest.mark.parametrize("status, reason", [(401, "Unauthorized"), (407, "Proxy Authentication Required")])
def test_a_phone_that_asks_for_a_password_that_nobody_has_has_answered(sleeper, caller, user, status, reason):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    awake.reply(awake.expect_request("INVITE"), status, reason)
    call.expect_final(480)
    assert time.monotonic() - awake.woken_at < SILENT_AFTER
    assert len(phone.pushes) == 1


@pytest.mark.parametrize("parameters, token", [(apns, apns_token), (fcm, fcm_token)])
def test_a_phone_whose_address_takes_no_connection_is_pushed_at_once(
        phones, trusting, trusting_caller, simulator, user, parameters, token):  # fmt: skip
    token = token()
    phone = phones(user, trusting.address)
    closed = phones(user, trusting.address, "udp").port
    reply = phone.register(parameters(token), contact=f"sip:{user}@127.0.0.1:{closed};transport=tcp")
    assert reply.status == 200
    call = trusting_caller.call(user)
    simulator.wait_push(token)
    assert time.monotonic() - call.started < 1
    instance = phone.instance
    awake = phones(user, trusting.address)
    awake.instance = instance
    awake.register(parameters(token))
    finish(call, awake, awake.expect_request("INVITE"))


def log_time(asterisk, *texts):
    """Seconds of the first line that has all of these texts."""
    line = next(line for line in asterisk.log().splitlines() if all(text in line for text in texts))
    hours, minutes, seconds = line[1:13].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


@pytest.mark.alone
def test_a_push_that_fails_rings_the_known_contact_at_once(phones, caller, user, asterisk):
    """Its token is gone, but its address may still be good."""
    token = "unregistered-" + fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    call = caller.call(user)
    invite = phone.expect_request("INVITE")
    finish(call, phone, invite)
    asterisk.wait_log(f"aor={user}")
    failed = log_time(asterisk, "push token-gone", f"aor={user}")
    dialled = log_time(asterisk, "Called PJSIP/" + user)
    assert dialled - failed < 0.02


@pytest.mark.alone
def test_a_push_that_fails_ends_the_call_at_once_when_nothing_is_left(phones, caller, user, asterisk):
    token = "unregistered-" + fcm_token()
    phone = phones(user, asterisk.address, "tcp")
    phone.register(fcm(token))
    phone.close()
    asterisk.wait_log(f"from AOR '{user}' due to shutdown")
    call = caller.call(user)
    call.expect_final(480)
    asterisk.wait_log(f"{user}: WAKING ")
    assert log_time(asterisk, f"{user}: WAKING ") - log_time(asterisk, "push token-gone", f"aor={user}") < 0.25


@pytest.mark.parametrize("is_awake", [True, False])
def test_a_phone_that_says_nothing_and_cannot_be_pushed_is_not_waited_for(phones, trusting, asterisk, user, is_awake):
    server = trusting if is_awake else asterisk
    phone = phones(user, server.address)
    phone.register(fcm("unregistered-" + fcm_token()))
    phone.close()
    call = phones("caller", server.address).call(user)
    call.expect_final(480, 8)
    # At the end of the wait here; of a longer one after five seconds.
    assert 4.2 < time.monotonic() - call.started < 6
    assert "silent" in server.cli(f"pushwake trace {user}") or not is_awake


def test_a_phone_that_was_not_dialled_is_not_silent(frozen, caller, user, asterisk):
    phone = frozen()
    asterisk.add_extension(f"announce-{user}", f"PushWake({user},10)", "Answer()", "Wait(2)", "Hangup()")
    caller.call(f"announce-{user}").expect(200)
    caller.expect_request("BYE")
    assert phone.pushes == []


@pytest.mark.alone
def test_a_phone_registers_again_and_gets_its_datagram_once_more(sleeper, trusting, trusting_caller, user):
    """It slept when the INVITE came; retransmissions become rarer with time, and the REGISTER says that it is there."""
    phone = sleeper(at=trusting)
    awake = phone.wake()
    call = trusting_caller.call(user)
    first = awake.expect_request("INVITE")
    awake.expect_request("INVITE")
    awake.expect_request("INVITE")
    started = time.monotonic()
    awake.register(phone.parameters)
    again = awake.expect_request("INVITE", 1)
    assert again.at - started < 0.3 and again.all("Via") == first.all("Via")
    finish(call, awake, first)


def test_a_call_goes_on_with_the_next_engine(make_asterisk, frozen, sleeper, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 20})
    awake, phone = frozen(at=asterisk, of="100"), sleeper(fcm, at=asterisk, of="100")
    call = phones("caller", asterisk.address).call("100")
    ringing = awake.socket.expect_request("INVITE")
    awake.socket.ring(ringing)
    phone.simulator.wait_push(phone.token)
    killed = asterisk.engine_pid()
    asterisk.kill_engine()
    wait_until("the next engine", lambda: asterisk.engine_pid() not in (0, killed), 10)
    joined = phone.wake()
    invite = joined.expect_request("INVITE")
    joined.answer(invite)
    call.expect(200)
    awake.socket.expect_request("CANCEL")
    wait_until("nobody is pushed twice", lambda: len(phone.simulator.calls(phone.token)) == 1)
    call.end()


@pytest.mark.parametrize("is_frozen", [True, False])
def test_a_phone_that_sleeps_again_during_an_announcement_is_pushed_again(sleeper, caller, user, asterisk, is_frozen):
    phone = sleeper(transport="tcp")
    asterisk.add_extension(
        f"announce-{user}", f"PushWake({user},15)", "Wait(3)", f"Dial(${{PUSHWAKE_CONTACTS}}&Local/join@pushwake,20)", "Hangup(20)")
    call = caller.call(f"announce-{user}")
    suspended = phone.wait_and_wake()
    if not is_frozen:
        phone.fall_asleep(suspended)
    wait_until("it is pushed again", lambda: len(phone.pushes) == 2)
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))
