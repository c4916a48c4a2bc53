#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many calls ring while a Kamailio with PushWake is offered 1, 1.5, 2 and 3 times what it can put through.

Needs `make bench` once before, for its load generator. Each call is to a phone of its own. A call that rings within 5 s counts.
A row is one run; `of 1 x` is what rang a second, in parts of the first run, whose goal is 0.9. `normal after` is a run at a
quarter of the capacity, begun 2 s later: all of its calls ring.
"""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from call_servers import CallServer, make_keys

GOAL = 0.9
MOST = 3


def play(server, users, rate, seconds):
    calls = rate * seconds
    found = server.calls(calls, rate, "--users", users)
    finals = {status: count for status, count in found["finals"].items() if status not in ("200", "503")}
    refused = found["finals"].get("503", 0)
    print(f"  {rate:6}{found['in_time'] / seconds:8.0f}{found['join_p99_ms'] + found['push_p99_ms']:12.1f}{refused:10}{found['unfinished']:12}"
          f"{found['resends']:10}{server.shared_memory() // 1000000:8}  {finals or ''}", flush=True)
    return found["in_time"] / seconds, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=800, help="calls a second that the machine can put through")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--shared-memory", type=int, default=512)
    arguments = parser.parse_args()
    missed, users = [], MOST * arguments.capacity * arguments.seconds
    with tempfile.TemporaryDirectory(prefix="pushwake-crowd-") as directory:
        directory = Path(directory)
        server = CallServer(directory / "server", "PUSHWAKE", make_keys(directory / "keys"), arguments.shared_memory)
        try:
            server.register(users)
            server.calls(100, 25, "--users", users)
            print(f"calls to sleeping phones; load of the machine before: {os.getloadavg()[0]:.1f}")
            print("  offered  rang/s   p99 ms sum   refused  unanswered    resent  shm MB  other finals")
            alone, _ = play(server, users, arguments.capacity, arguments.seconds)
            for times in (1.5, 2, MOST):
                rang, found = play(server, users, int(arguments.capacity * times), arguments.seconds)
                time.sleep(2)
                calm, after = play(server, users, arguments.capacity // 4, arguments.seconds // 2)
                missed += [f"{times} x: {rang / alone:.2f}"] if rang < GOAL * alone else []
                missed += [f"{times} x: {found['unfinished']} callers hear nothing"] if found["unfinished"] else []
                missed += [f"after {times} x: {after['wrong']} calls did not ring"] if after["wrong"] else []
                print(f"  {times} x: {rang / alone:.2f} of 1 x", flush=True)
        finally:
            server.stop()
    sys.exit("bench: missed: " + "; ".join(missed) if missed else 0)


if __name__ == "__main__":
    main()
