# SPDX-License-Identifier: MIT
"""Many calls at once, to phones that do whatever comes to their minds: each call ends, and nothing of it is left.

Without TLS: under such load Kamailio 5.6 with OpenSSL 3 frees memory twice by itself."""

import concurrent.futures
import os
import random
import re
import time

from phones import rfc8599_apns, rfc8599_fcm
from servers import wait_until
from wire_caller import WireCaller
from wire_phone import WirePhone

USERS = 60
ANSWERS = [(180, 200), (180, 200), (200,), (100, 180, 200), (100, 183, 486), (486,), (180,), (), (100,), (603,), (480,)]


class Device:
    """A phone that registers now and then, over one socket or another, and answers one way or another."""

    def __init__(self, server, user, chance):
        self.server, self.user, self.chance = server, user, chance
        self.push = chance.choice([rfc8599_fcm, rfc8599_apns])()
        self.phones = []
        self.phone = None

    def begin(self):
        self.appear()
        state = self.chance.choice(["asleep", "asleep", "awake", "suspended"])
        if state == "asleep":
            self.phone.sleep()
        elif state == "suspended":
            self.phone.suspend()

    def appear(self):
        transport = self.chance.choice(["udp", "tcp"])
        if self.phone is None:
            self.phone = WirePhone(self.server, self.user, transport, self.push)
        else:
            same = {"call_id": self.phone.call_id} if self.chance.random() < 0.3 else {}
            number = self.phone.cseq
            self.phone = self.phone.again(transport, **same)
            self.phone.cseq = number
        self.phone.answers["INVITE"] = self.chance.choice(ANSWERS)
        self.phones.append(self.phone)
        self.phone.send_register()

    def act(self):
        what = self.chance.choice(["appear", "appear", "refresh", "leave", "reset", "suspend", "resume", "nothing"])
        if what == "appear":
            self.appear()
        elif not self.phone.endpoint.is_open:
            return
        elif what == "refresh":
            self.phone.send_register()
        elif what == "leave":
            self.phone.send_register(0)
        elif what == "reset" and self.phone.transport == "tcp":
            self.phone.endpoint.reset()
        elif what == "suspend":
            self.phone.suspend()
        elif what == "resume":
            self.phone.resume()

    def stop(self):
        for phone in self.phones:
            phone.stop()


def live(server, number, seed):
    """One user's life: the call, and what was wrong with it."""
    chance = random.Random(f"{seed}-{number}")
    devices = [Device(server, f"random-{number}", chance) for _ in range(chance.choice([1, 1, 2, 3]))]
    caller = WireCaller(server, chance.choice(["udp", "tcp"]))
    try:
        for device in devices:
            device.begin()
        time.sleep(0.05)
        call = caller.call(devices[0].user, "X-Fr: 3000", "X-Fr-Inv: 3000")
        hangs_up_at = time.monotonic() + chance.uniform(0, 6)
        while call.final is None and time.monotonic() < hangs_up_at:
            time.sleep(chance.uniform(0, 0.4))
            chance.choice(devices).act()
        if call.final is None and chance.random() < 0.7:
            call.cancel()
        try:
            call.wait_final(9)
        except AssertionError:
            return call.transcript()
        time.sleep(0.3)
        # A 200 may follow: somebody picked up as the call ended (RFC 3261, 16.7).
        return "" if len({status for status in call.statuses if status >= 300}) <= 1 else call.transcript()
    finally:
        caller.stop()
        for device in devices:
            device.stop()


def test_every_call_ends_and_nothing_is_left(make_server, simulator):
    server = make_server(settings={"silent_after": 400, "decline_waits": 1}, wake_timeout=5)
    seed = os.environ.get("PUSHWAKE_SEED") or str(random.randrange(1 << 32))
    with concurrent.futures.ThreadPoolExecutor(USERS) as threads:
        traces = [s for s in threads.map(lambda number: live(server, number, seed), range(USERS)) if s]
    assert not traces, f"PUSHWAKE_SEED={seed}\n" + "\n".join(traces[:3])
    server.wait_none_held()
    assert server.process.poll() is None

    def left():
        counters = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", server.rpc("tm.stats"))}
        # The INVITE that shows a phone the end of its call waits half a minute for one that says nothing.
        return counters["created"] - counters["freed"] - counters["total_local"]

    wait_until("no transaction is left", lambda: left() <= 0, 12, 0.2)
    assert "BUG" not in server.log_text() and "CRITICAL" not in server.log_text()
