# SPDX-License-Identifier: MIT
"""The process that works at a request gets no processor, on a host that has too much to do."""

import os
import pathlib
import re
import signal
import subprocess
import time

from phones import rfc8599_fcm
from servers import PROGRAM, stopped, wait_until

LATE_QUESTION = pathlib.Path(__file__).parents[1] / "peers" / "late_question.c"

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


def test_a_phone_registers_when_its_contacts_have_been_looked_for(make_kamailio, wire, tmp_path):
    library, asking_now = tmp_path / "late_question.so", tmp_path / "asking"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, LATE_QUESTION, "-ldl"], check=True)
    server = make_kamailio(program=["env", f"LATE_QUESTION={asking_now}", f"LD_PRELOAD={library}", *PROGRAM])
    server.start().wait_engine()
    phone = wire.phone(server, "late", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    awake = wire.again(phone, "tcp")
    call = wire.call(server, "late")
    wait_until("the engine is about to be asked", asking_now.exists, step=0.001)
    awake.register()
    awake.wait_request("INVITE")
    call.wait_status(200)
    call.hang_up()
    server.wait_none_held()
