# SPDX-License-Identifier: MIT
"""Many calls that wait at once, and what happens in the same moment."""

import concurrent.futures
import os
import pathlib
import random
import re
import time

import pytest
from asterisk_server import SANITIZED
from servers import wait_until
from sleeper import Sleeper, apns, fcm
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


@pytest.mark.parametrize("has_engine", [True, False])
def test_a_call_comes_as_the_connection_of_the_only_phone_ends(sleeper, caller, user, asterisk, has_engine):
    """Between its last contact and the companion no call may find nobody."""
    phone = sleeper(fcm, "tcp")
    if not has_engine:
        asterisk.kill_engine()
    for _ in range(5):
        awake, count = phone.wake(), len(phone.pushes)
        awake.close()
        time.sleep(random.uniform(0, 0.012))
        call = caller.call(user)
        phone.simulator.wait_push(phone.token, after=count)
        awake = phone.wake()
        take(call, awake, awake.expect_request("INVITE"))
        awake.close()
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


def test_an_old_leg_that_rings_late_is_cancelled(sleeper, caller, user, asterisk):
    """No request may be cancelled that has no answer (RFC 3261, 9.1)."""
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    old = awake.expect_request("INVITE")
    moved = phone.wake()
    invite = moved.expect_request("INVITE")
    awake.ring(old)
    awake.reply(awake.expect_request("CANCEL"), 200, "OK")
    awake.reply(old, 487, "Request Terminated")
    take(call, moved, invite)
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


@pytest.mark.alone
@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps what was freed")
@pytest.mark.timeout(200)
def test_a_thousand_calls_wait_at_once_and_leave_nothing(make_asterisk, phones, simulator):
    """As many as a busy server has; what Asterisk keeps of the first thousand the next ones use again."""
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wake_timeout": 15, "ignore_same": 0}, start=False)
    asterisk.write("rtp.conf", "[general]\nrtpstart = 50000\nrtpend = 60000\n")
    asterisk.change("asterisk.conf", "systemname = test\n", "systemname = test\nmaxfiles = 20000\n")
    asterisk.start()
    asterisk.wait_engine()
    sleepers = [Sleeper(phones, asterisk, simulator, str(number), fcm) for number in range(100, 150)]
    kept = []
    for _ in range(2):
        caller = phones("caller", asterisk.address)
        calls = []
        for number in range(1000):
            calls.append(caller.call(sleepers[number % 50].user))
            if number % 10 == 9:
                time.sleep(0.05)
        wait_until("a thousand wait", lambda: "1000 active calls" in asterisk.cli("core show channels count"), 15, 0.5)
        most = resident(asterisk.pid)
        assert {call.final(60).status for call in calls} == {480}
        nothing_is_left(asterisk)
        asterisk.cli("malloc trim")
        kept.append(resident(asterisk.pid))
        print(f"{most} KB while they wait, {kept[-1]} KB after")
    assert kept[1] < kept[0] * 1.1


# In all; some thousands take minutes.
RACES = int(os.environ.get("RACES", "600"))
USERS_AT_ONCE = 20


@pytest.mark.alone
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ring_all", [0, 1])
def test_callers_hang_up_as_phones_register_and_asterisk_reloads(make_asterisk, phones, simulator, ring_all):
    asterisk = make_asterisk(
        extensions=DIALPLAN,
        settings={"wake_timeout": 30, "ignore_same": 0, "device_pushes": 0, "caller_pushes": 0, "ring_all": ring_all})  # fmt: skip
    racers = [Racer(phones, asterisk, simulator, str(100 + number)) for number in range(USERS_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(USERS_AT_ONCE) as pool:
        runs = [pool.submit(racer.run, RACES // USERS_AT_ONCE) for racer in racers]
        while not all(run.done() for run in runs):
            asterisk.cli("pjsip reload")
            time.sleep(0.2)
    rang = sum(run.result() for run in runs)
    print(f"{rang} of {RACES} rang")
    assert 0 < rang
    nothing_is_left(asterisk)


class Racer:
    """A caller and the phone that he calls: he hangs up in the moment in which it registers."""

    def __init__(self, phones, asterisk, simulator, user):
        self.sleeper = Sleeper(phones, asterisk, simulator, user, fcm)
        self.caller = phones("caller", asterisk.address)
        self.awake = self.sleeper.wake()
        self.open = {}

    def run(self, count):
        """How often the phone got the INVITE."""
        return sum(self.race() for _ in range(count))

    def race(self):
        call = self.caller.call(self.sleeper.user)
        call.expect(180, 20)
        self.awake.start_register(self.sleeper.parameters)
        time.sleep(random.uniform(0, 0.01))
        call._send("CANCEL", call.target, call.cseq, call.branch)
        rang = self.listen(0.005)
        assert call.final(20).status == 487
        rang += self.listen(0.05)
        deadline = time.monotonic() + 10
        while self.open:
            assert time.monotonic() < deadline, "it rings on"
            rang += self.listen(0.1)
        return rang > 0

    def listen(self, seconds):
        """Does what a phone does, until nothing comes for so long; how many INVITEs came."""
        count = 0
        while message := self.awake._read(seconds):
            if not message.is_request:
                continue
            if message.method == "INVITE":
                count += message["Via"] not in self.open
                self.open[message["Via"]] = message
                self.awake.ring(message)
            elif message.method == "CANCEL":
                self.awake.reply(message, 200, "OK")
                if message["Via"] in self.open:
                    self.awake.reply(self.open[message["Via"]], 487, "Request Terminated")
            elif message.method == "ACK":
                self.open.pop(message["Via"], None)
            elif message.method in ("OPTIONS", "NOTIFY"):
                self.awake.reply(message, 200, "OK")
        return count


def resident(pid):
    """Kilobytes."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])
