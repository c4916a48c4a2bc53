# SPDX-License-Identifier: MIT
"""Shared memory runs low while phones wake: further calls are refused, those that are held end as they should, and when
memory is free again all is well. What the engine keeps of requests stays small."""

import pathlib
import re
import time

from phones import rfc8599_fcm
from servers import wait_until


def free_memory(server):
    return int(re.search(r"free: (-?\d+)", server.rpc("core.shmmem")).group(1))


def eat(server, caller, user):
    """Calls until the server refuses some; those that it holds."""
    calls = []
    while True:
        burst = [caller.call(user) for _ in range(20)]
        wait_until("each call is answered", lambda: all(call.answers for call in burst))
        calls += burst
        refused = [call.final for call in calls if call.final]
        if refused:
            assert {answer.status for answer in refused} == {503}
            assert all(answer.headers("Retry-After") for answer in refused)
            return [call for call in calls if not call.final]
        assert len(calls) < 2000, f"{len(calls)} calls are held, and {free_memory(server)} bytes are left"


def test_shared_memory_runs_low_and_comes_back(make_server, wire, simulator):
    server = make_server(wake_timeout=20, arguments=("-m", "12"))
    phone = wire.phone(server, "eater", "udp", rfc8599_fcm())
    phone.answers["INVITE"] = ()
    phone.register()
    caller = wire.caller(server)
    before = free_memory(server)
    calls = eat(server, caller, phone.user)
    assert len(calls) > 100
    # Each call that a REGISTER releases takes memory, and so does each CANCEL.
    for _ in range(4):
        phone.send_register()
        time.sleep(0.1)
    for call in calls[::3]:
        call.cancel()
    assert {call.wait_final(40).status for call in calls} <= {408, 480, 487}
    wait_until("nothing is held", lambda: server.held() == 0, 10)
    assert "could not allocate shared memory" not in server.log_text()
    assert server.log_text().count("memory is low") >= 1
    wait_until("memory is free again", lambda: free_memory(server) > before - 300_000, 45)
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
