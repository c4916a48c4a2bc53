# SPDX-License-Identifier: MIT
"""Shared memory runs out while phones wake: calls fail, Kamailio lives, and when memory is free again all is well. What the
engine keeps of requests stays small."""

import pathlib
import re
import time

from phones import rfc8599_fcm
from servers import wait_until


LITTLE = 500_000


def free_memory(server):
    return int(re.search(r"free: (-?\d+)", server.rpc("core.shmmem")).group(1))


def eat(server, caller, user):
    """Calls until no more are held; the calls that were taken."""
    calls = []
    for _ in range(60):
        burst = [caller.call(user) for _ in range(20)]
        end = time.monotonic() + 0.5
        while not all(call.answers for call in burst) and time.monotonic() < end:
            time.sleep(0.01)
        calls += burst
        is_held = all(call.statuses == [100] or call.statuses == [100, 110] for call in burst)
        # On a busy machine an answer may be late for other reasons.
        if not is_held and free_memory(server) < LITTLE:
            return [call for call in calls if call.answers and call.answers[0].status == 100]
    raise AssertionError(f"{len(calls)} calls are held, and {free_memory(server)} bytes are left")


def hang_up(calls):
    """A CANCEL takes memory too: some have to be sent again, and while there is none only time ends a call."""
    for call in calls:
        if call.final is None:
            call.cancel()


def test_shared_memory_runs_out_and_comes_back(make_server, wire, simulator):
    server = make_server(wake_timeout=20, arguments=("-m", "12"))
    phone = wire.phone(server, "eater", "udp", rfc8599_fcm())
    phone.answers["INVITE"] = ()
    phone.register()
    caller = wire.caller(server)
    before = free_memory(server)
    calls = eat(server, caller, phone.user)
    # Each call that a REGISTER releases takes memory that is not there.
    for _ in range(4):
        phone.send_register()
        time.sleep(0.1)
    assert "could not allocate shared memory" in server.log_text()
    # Some go, and what they leave is just enough for some of the others.
    for call in calls[::3]:
        call.cancel()
    for _ in range(4):
        phone.send_register()
        time.sleep(0.1)
    wait_until("nothing is held", lambda: hang_up(calls) or server.held() == 0, 40, 0.5)
    wait_until("memory is free again", lambda: free_memory(server) > before - 300_000, 45)
    assert server.process.poll() is None
    # No worker, timer or supervisor waits for a lock.
    for number in range(8):
        other = wire.phone(server, f"after-{number}", "udp", rfc8599_fcm())
        other.register()
        call = caller.call(other.user)
        simulator.wait_event(other.push.token, "call")
        other.register()
        assert call.wait_final().status == 200


def engine_memory(server):
    status = pathlib.Path(f"/proc/{server.engine_pid()}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1000


def test_of_a_long_text_no_more_is_kept_than_a_push_can_carry(make_server, wire):
    """Each request is kept for a minute after its end."""
    server = make_server(arguments=("-m", "512"))
    phone = wire.phone(server, "reader", "tcp", rfc8599_fcm())
    phone.register()
    caller = wire.caller(server)
    text = "long " * 8600

    def send(count):
        for _ in range(count):
            caller.write(phone.user, text).wait_status(200)

    send(50)
    before = engine_memory(server)
    send(500)
    assert server.counter("requests_kept") >= 500
    assert engine_memory(server) - before < 500 * len(text) // 4
