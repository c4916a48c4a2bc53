# SPDX-License-Identifier: MIT
"""Phones that join a call that is on: at once, late, or again and again."""

import re
import subprocess

from conftest import USERS
from phones import fcm_token
from servers import wait_until
from sleeper import fcm, finish


def channels(asterisk):
    return int(re.search(r"(\d+) active channel", asterisk.cli("core show channels count")).group(1))


def test_a_phone_that_registers_while_the_engine_is_asked_about_its_call_rings(make_asterisk, phones):
    """The contacts were read before it came, and no call waited yet when it did."""
    asterisk = make_asterisk(settings={"awake_for": 10})
    caller = phones("caller", asterisk.address)
    for user in USERS[1:41]:
        first, token = phones(user, asterisk.address), fcm_token()
        assert first.register(fcm(token)).status == 200
        second = phones(user, asterisk.address)
        second.instance = first.instance
        call = caller.call(user)
        assert second.register(fcm(token)).status == 200
        second.ring(second.expect_request("INVITE", 2))
        call.cancel()


def test_a_phone_that_comes_after_the_time_to_wait_joins_another_that_still_rings(asterisk, sleeper, desk, caller, user):
    asterisk.add_extension(f"late-{user}", f"PushWake({user},1)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake,20)", "Hangup(20)")
    late = sleeper(fcm)
    call = caller.call(f"late-{user}")
    desk.ring(desk.expect_request("INVITE"))
    call.expect(180)
    assert desk.gets_nothing("CANCEL", 3)
    awake = late.wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()


def test_the_wait_for_phones_that_come_late_ends_with_the_last_that_rings(make_asterisk, sleeper, phones):
    asterisk = make_asterisk()
    asterisk.add_extension("late", "PushWake(101,1)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake)", "Hangup(20)")
    sleeper(fcm, at=asterisk, of="101")
    desk = phones("101", asterisk.address)
    assert desk.register().status == 200
    call = phones("caller", asterisk.address).call("late")
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    call.expect(180)
    assert desk.gets_nothing("CANCEL", 3)
    desk.reply(invite, 486, "Busy Here")
    call.expect_final(480)
    wait_until("no channel is left", lambda: channels(asterisk) == 0)


def test_all_phones_get_the_headers_of_the_first_dial(asterisk, sleeper, desk, caller, user):
    with open(asterisk.host_at / "etc/extensions.conf", "a") as f:
        f.write("\n[callee]\nexten => s,1,Set(PJSIP_HEADER(add,Alert-Info)=<http://sales>)\n same => n,Return()\n")
    asterisk.add_extension(f"opt-{user}", f"PushWake({user},5)", "Dial(${PUSHWAKE_CONTACTS},20,b(callee^s^1))")
    member = sleeper(fcm)
    call = caller.call(f"opt-{user}")
    rung = desk.expect_request("INVITE")
    desk.ring(rung)
    awake = member.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert rung.all("Alert-Info") == invite.all("Alert-Info") == ["<http://sales>"]
    finish(call, awake, invite)


def test_a_phone_that_registers_again_and_again_leaves_room_for_others(make_asterisk, phones, simulator):
    """A phone between two networks; each leg that joins is one more Dial() in another."""
    asterisk = make_asterisk(settings={"wake_timeout": 30})
    caller, phone, token = phones("caller", asterisk.address), phones("101", asterisk.address), fcm_token()
    assert phone.register(fcm(token)).status == 200
    call = caller.call("101")
    simulator.wait_push(token)
    for _ in range(60):
        last = phones("101", asterisk.address)
        last.instance = phone.instance
        assert last.register(fcm(token)).status == 200
    assert channels(asterisk) < 60
    # It is rung where it came to rest, though not at once.
    invite = last.expect_request("INVITE", 15)
    last.ring(invite)
    last.answer(invite)
    call.expect(200)
    call.end()
    desk = phones("102", asterisk.address)
    assert desk.register().status == 200
    finish(caller.call("102"), desk, desk.expect_request("INVITE"))


def test_a_context_that_forks_for_nobody_ends_by_itself(make_asterisk, phones):
    """The line that tests PUSHWAKE_CONTACTS has been left out."""
    asterisk = make_asterisk()
    asterisk.add_extension("900", "PushWake(101,3)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@bad,20)", "Hangup(20)")
    with open(asterisk.host_at / "etc/extensions.conf", "a") as f:
        f.write("[bad]\nexten => join,1,PushWake(,,j)\n same => n,Dial(${PUSHWAKE_CONTACTS}&Local/join@bad)\n same => n,Hangup(20)\n")
    asterisk.cli("dialplan reload")
    subprocess.run(["prlimit", f"--pid={asterisk.pid}", "--nofile=1000:1000"], check=True)
    call = phones("caller", asterisk.address).call("900")
    assert call.final().status >= 400
    assert "forwards exceeded" in asterisk.log()
    wait_until("no channel is left", lambda: channels(asterisk) == 0)
