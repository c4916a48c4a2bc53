#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes Sources/PushWakeABI/functions.order: in which order the linker puts the library's functions.

usage: function_order.py LIBRARY > functions.order     LIBRARY has its symbols (`make function-order` builds it so)

Plays woken calls through a Kamailio whose processes callgrind watches, and counts who called what. First come the functions
that a SIP worker calls for each request, then those that the engine calls for each, then what only their start takes. Names of
the same group are sorted, so that a new list differs where the code does.
"""

import collections
import os
import pathlib
import re
import sys
import tempfile

from call_servers import CallServer
from servers import Simulator, wait_until

USERS, CALLS, RATE = 50, 100, 10
LINE = re.compile(r"(ob|cob|fn|cfn)=\((\d+)\)(?: (.*))?")


def calls_into(path, library):
    """How often each function of the library was called, as one process wrote it down."""
    objects, functions, counts = {}, {}, collections.Counter()
    current = callee = None
    target = None
    for line in path.read_text(errors="replace").splitlines():
        if found := LINE.match(line):
            kind, number, name = found.groups()
            table = objects if kind in ("ob", "cob") else functions
            if name is not None:
                table[number] = name
            if kind == "ob":
                current = objects[number]
            elif kind == "cob":
                callee = objects[number]
            elif kind == "cfn":
                # Without a cob= the callee is in the caller's object.
                target = functions[number].split("'")[0] if (callee or current).endswith(library) else None
                callee = None
            elif kind == "fn" and current.endswith(library):
                counts[functions[number].split("'")[0]] += 0
        elif line.startswith("calls=") and target:
            counts[target] += int(line[6:].split()[0])
    return counts


def play(library, directory):
    """The counts of the SIP workers together, and those of the engine."""
    keys = directory / "keys"
    keys.mkdir()
    simulator = Simulator(keys)
    simulator.start()
    program = ("valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--demangle=no",
               f"--callgrind-out-file={directory}/counts.%p", "kamailio")
    server = CallServer(directory / "kamailio", "PUSHWAKE", simulator, program=program)
    server.register(USERS)
    server.move_phones()
    found = server.calls(CALLS, RATE, "--users", USERS)
    pids = server.pids
    server.stop()
    simulator.stop()
    wait_until("every process has written its counts", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 60)
    if found["ok"] < CALLS * 0.9:
        sys.exit(f"function_order: only {found['ok']} of {CALLS} calls went through")
    worker, engine = collections.Counter(), collections.Counter()
    for path in directory.glob("counts.*"):
        with open(path, errors="replace") as lines:
            is_engine = any(line.startswith("cmd:") and "pushwake engine" in line for line in lines)
        (engine if is_engine else worker).update(calls_into(path, library))
    return worker, engine


def main(library):
    with tempfile.TemporaryDirectory(prefix="pushwake-order-") as directory:
        worker, engine = play(pathlib.Path(library).name, pathlib.Path(directory))
    often = CALLS // 2
    groups = [
        [name for name, count in worker.items() if count >= often],
        [name for name, count in engine.items() if count >= often],
        [*worker, *engine],
    ]
    seen = set()
    for group in groups:
        for name in sorted(set(group) - seen):
            print(name)
        seen.update(group)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
