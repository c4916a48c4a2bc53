# SPDX-License-Identifier: MIT
"""Calls, and what the dialplan asks, while the engine stands still; and channels that carry very many calls."""

import threading
import time

from peers.faint_engine import FaintEngine
from phones import fcm_token
from servers import stopped, wait_until
from sleeper import fcm, finish


def stat(asterisk, name):
    return next(int(line.split()[-1]) for line in asterisk.cli("pushwake show stats").splitlines()
                if line.split()[:-1] and line.replace("_", " ").startswith(name))


def test_a_hang_up_while_the_engine_is_asked_reaches_it(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 60})
    phone = sleeper(fcm, at=asterisk, of="100")
    with stopped(asterisk.engine_pid()):
        call = phones("caller", asterisk.address).call("100")
        asterisk.wait_log('"PushWake(100')
        time.sleep(0.3)  # it has been asked, and nothing tells of that
        call.cancel()
    phone.simulator.wait_push(phone.token)
    wait_until("it hears of the end", lambda: len(phone.pushes) == 2)
    wait_until("the engine has forgotten it", lambda: stat(asterisk, "requests held") == 0)


def test_a_channel_carries_hundreds_of_calls(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 5})
    desk = phones("100", asterisk.address)
    desk.register()
    sleeper(fcm, at=asterisk, of="100")
    lists = ["&".join(f"nobody{number}" for number in range(first, first + 60)) for first in range(0, 600, 60)]
    asterisk.add_extension(
        "many", "PushWake(100,2)", *[f"PushWake({names},1)" for names in lists], "PushWake(,,j)",
        "Verbose(0,joined: ${PUSHWAKE_STATUS})", "Hangup(17)")
    call = phones("caller", asterisk.address).call("many")
    asterisk.wait_log("joined: ", timeout=20)
    call.expect_final(486)
    assert asterisk.engine_pid()


def test_what_the_dialplan_asks_does_not_wait_for_an_engine_that_stands_still(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"engine_timeout": 100})
    sleeper(fcm, at=asterisk, of="100")
    asterisk.add_extension(
        "ask", "Verbose(0,asked)", *["Verbose(0,${PUSHWAKE(100,count)} ${PUSHWAKE(100,provider)} ${DEVICE_STATE(PushWake:100)})"] * 3,
        "Verbose(0,told)", "Hangup(17)")
    before = len(asterisk.log())
    with stopped(asterisk.engine_pid()):
        call = phones("caller", asterisk.address).call("ask")
        asterisk.wait_log("asked", since=before)
        began = time.monotonic()
        asterisk.wait_log("told", 30, since=before)
        assert time.monotonic() - began < 3
        call.expect_final(486)


def test_an_agent_who_was_asked_about_in_vain_is_available_again(make_asterisk, phones):
    """The phone leaves its connection while no engine can say that a push brings it back: only PushWake() has to ask one."""
    asterisk = make_asterisk(settings={"engine_timeout": 100, "wait": "dialplan"}, start=False)
    asterisk.write("queues.conf", "[help]\nmember => Local/100@agents/n,0,Ann,PushWake:100\n")
    asterisk.start()
    asterisk.wait_engine()

    def is_said(state):
        return state in asterisk.cli("queue show help")

    phone = phones("100", asterisk.address, "tcp")
    assert phone.register(fcm(fcm_token())).status == 200
    wait_until("Ann is free", lambda: is_said("Not in use"))
    with stopped(asterisk.engine_pid()):
        phone.close()
        wait_until("nobody knows of Ann", lambda: is_said("Unknown"))
    wait_until("Ann is free", lambda: is_said("Not in use"))


def test_a_phone_rings_whose_engine_heard_of_the_call_later(make_asterisk, sleeper, phones):
    """The first question had no answer, so the contact that was known was dialled; the run that joins asks again."""
    asterisk = make_asterisk(settings={"engine_timeout": 200, "wake_timeout": 20})
    phone = sleeper(fcm, at=asterisk, of="100")
    asterisk.add_extension(
        "late", "Verbose(0,first ${PUSHWAKE_STATUS})", "Wait(2)", "PushWake(,,j)", "Dial(${PUSHWAKE_CONTACTS})")
    asterisk.add_extension(
        "slow", "PushWake(100,20)", "Verbose(0,first ${PUSHWAKE_STATUS})", "Dial(${PUSHWAKE_CONTACTS}&Local/late@phones)")
    with stopped(asterisk.engine_pid()):
        call = phones("caller", asterisk.address).call("slow")
        asterisk.wait_log("first UNAVAILABLE")
    awake = phone.wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))


def test_without_an_engine_phones_that_come_at_once_both_ring(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"engine_timeout": 100, "wake_timeout": 10})
    sleepers = [sleeper(fcm, at=asterisk, of="100") for _ in range(2)]
    call = phones("caller", asterisk.address).call("100")
    for phone in sleepers:
        phone.simulator.wait_push(phone.token)
    woken = []
    with stopped(asterisk.engine_pid()):
        threads = [threading.Thread(target=lambda phone=phone: woken.append(phone.wake())) for phone in sleepers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        invites = [(phone, phone.expect_request("INVITE")) for phone in woken]
        invites[0][0].answer(invites[0][1])
        call.expect(200)
    assert len(invites) == 2
    call.end()


def test_an_action_of_a_later_release_is_none_and_is_said_once(make_asterisk, phones):
    """All that the registrar has rings, as if there were no push."""
    asterisk = make_asterisk(start=False)
    later = FaintEngine(asterisk.directory / "engine.sock", action=7)
    try:
        asterisk.settings(engine_mode="external", engine_timeout=500)
        asterisk.add_extension(
            "later", "PushWake(100,5)", "Verbose(0,said: ${PUSHWAKE_STATUS})", "Dial(${PUSHWAKE_CONTACTS},5)", "Hangup(17)")
        asterisk.start()
        asterisk.wait_log("Asterisk Ready", 20)
        desk = phones("100", asterisk.address)
        desk.register()
        for _ in range(2):
            call = phones("caller", asterisk.address).call("later")
            desk.answer(desk.expect_request("INVITE"))
            call.expect(200)
            call.end()
        wait_until("both calls have gone on", lambda: asterisk.log().count('"0,said: UNAVAILABLE"') == 2)
        assert asterisk.log().count("goes on without push: engine unavailable: the engine is of a later release (action 7)") == 1
    finally:
        later.stop()
