#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof under load: every call ends as it should, nothing is left of any.

load   300 calls a second for a minute; one in ten is cancelled, one in twenty meets a busy phone, one in twenty a phone that
       never wakes. Every final code is checked. Afterwards Kamailio holds no request and no transaction, and its shared
       memory is what it was.
race   24,000 calls in which CANCEL and REGISTER, or CANCEL and the phone's first 180, are sent within the same millisecond.
       Afterwards no phone rings, no request is held, no transaction lives.
loss   Both together, shorter, while one packet in twenty is lost on its way to Kamailio.

Exit status 1 when anything of that is not so.
"""
import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from call_servers import CallServer, make_keys

LOAD = ["--cancel", 10, "--busy", 5, "--never", 5]
RACE = ["--race", 100]
LOSS = ["--cancel", 10, "--race", 20, "--busy", 5, "--never", 5, "--lose", 5]
WAKE_TIMEOUT = 3
# tm keeps an INVITE that ended for wt_timer, one whose phone does not answer a CANCEL for fr_timer.
TIMERS_END = 90
failures = []


def check(what, is_so, found=""):
    print(f"  {'ok    ' if is_so else 'FAILED'} {what}{f': {found}' if found != '' else ''}", flush=True)
    if not is_so:
        failures.append(what)


def packets_dropped():
    """UDP packets that found their receiver's buffer full, of all programs here."""
    names, values = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Udp:")]
    return int(values[names.index("RcvbufErrors")])


def memory_by_owner(server):
    """Bytes of shared memory by the function that asked for them."""
    text = server.kamailio.rpc("mod.stats", "all", "shm") or ""
    return {name: int(size) for name, size in re.findall(r"^\s*([\w:./() -]+?): (\d+)$", text, re.M)}


def warm_up(server, users):
    """Registers everybody and plays calls of each kind, so that what Kamailio makes once is made."""
    server.register(users)
    server.calls(users, 300, "--users", users, *LOAD)
    server.wait_idle(TIMERS_END)


def after(server, before, owners):
    """What has to be true when a run is over and tm's timers have ended."""
    try:
        server.wait_idle(TIMERS_END)
    except AssertionError:
        pass
    check("no transaction is left", server.transactions() == 0, server.transactions())
    check("no request is held", server.kamailio.held() == 0, server.kamailio.held())
    now = server.shared_memory()
    check("shared memory is what it was", now == before, f"{before:,} before, {now:,} after ({now - before:+,})")
    if now != before:
        for name, size in sorted(memory_by_owner(server).items()):
            if size != owners.get(name, 0):
                print(f"           {name}: {size - owners.get(name, 0):+,}")


def run(server, count, rate, users, options):
    warm_up(server, users)
    before, owners = server.shared_memory(), memory_by_owner(server)
    begin, dropped = time.monotonic(), packets_dropped()
    found = server.calls(count, rate, "--users", users, "--linger-ms", 2000, *options)
    print(f"  {count:,} calls in {time.monotonic() - begin:.0f} s, sent again {found['resends']}, final codes {found['finals']}, "
          f"INVITE to push p99 {found['push_p99_ms']:.1f} ms; dropped by this machine {packets_dropped() - dropped}")
    check("every call ended as it should", found["ok"] == count,
          f"{found['wrong']} with another code, {found['unfinished']} not at all")
    check("no phone rings on", found["left_ringing"] == 0, found["left_ringing"])
    check("nobody was pushed or called twice", found["doubled_pushes"] + found["doubled_invites"] == 0,
          f"{found['doubled_pushes']} pushes, {found['doubled_invites']} INVITEs")
    after(server, before, owners)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    # Python 3.11 holds the default against the choices too.
    parser.add_argument("modes", metavar="mode", nargs="*", choices=["load", "race", "loss", []], default=[],
                        help="load, race, loss; without any: all")
    parser.add_argument("--rate", type=int, default=300, help="calls a second")
    parser.add_argument("--seconds", type=int, default=60, help="length of the load")
    parser.add_argument("--races", type=int, default=24_000)
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--way", choices=["TSILO", "PUSHWAKE"], default="PUSHWAKE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pushwake-load-") as directory:
        keys = make_keys(Path(directory) / "keys")
        for mode in arguments.modes or ["load", "race", "loss"]:
            print(f"\n{mode}", flush=True)
            server = CallServer(Path(directory) / mode, arguments.way, keys, wake_timeout=WAKE_TIMEOUT)
            try:
                calls, options = {"load": (arguments.rate * arguments.seconds, LOAD), "race": (arguments.races, RACE),
                                  "loss": (arguments.rate * arguments.seconds // 3, LOSS)}[mode]
                run(server, calls, arguments.rate, arguments.users, options)
            finally:
                server.stop()
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("\nall as it should be")


if __name__ == "__main__":
    main()
