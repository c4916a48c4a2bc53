# SPDX-License-Identifier: MIT
"""The process that works at a request gets no processor, on a host that has too much to do."""

import os
import pathlib
import re
import signal
import time

from phones import rfc8599_fcm
from servers import stopped, wait_until

POLL = {"7", "73"}
"""poll or ppoll, whichever the C library has: what a worker is in that waits for the engine. One that waits for requests is not."""


def asking(server):
    """The worker that has asked the engine."""
    workers = re.findall(r"(\d+)\s+udp receiver", server.rpc("core.ps"))
    return next((int(pid) for pid in workers if pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in POLL), None)


def test_a_phone_comes_before_its_request_is_held(make_kamailio, wire, simulator):
    server = make_kamailio().start().wait_engine()
    phone = wire.phone(server, "slow", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    with stopped(server.engine_pid()):
        call = wire.call(server, "slow")
        worker = wait_until("the engine is asked", lambda: asking(server))
        os.kill(worker, signal.SIGSTOP)
    with stopped(worker):
        simulator.wait_event(phone.push.token, "call")
        wire.again(phone).register()
        time.sleep(0.6)  # longer than a worker takes that gets its turns
    call.wait_status(200)
    call.hang_up()
    server.wait_none_held()
