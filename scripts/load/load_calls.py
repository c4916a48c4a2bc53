#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof under load: every call ends as it should, nothing is left of any.

load   300 calls a second for a minute; one in ten is cancelled, one in twenty meets a busy phone, one in twenty a phone that
       never wakes. Every final code is checked. Afterwards Kamailio holds no request and no transaction, and its shared
       memory is what it was.
race   24,000 calls in which CANCEL and REGISTER, or CANCEL and the phone's first 180, are sent within the same millisecond.
       Afterwards no phone rings, no request is held, no transaction lives.
nodes  The load of the first over two nodes that share a Valkey: every other call is at each, half of the phones wake at the
       node that does not hold their call.
loss   Both together, shorter, while one packet in twenty is lost on its way to Kamailio.

Exit status 1 when anything of that is not so.
"""
import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from call_servers import CallNodes, CallServer, make_keys, settle  # noqa: E402

LOAD = ["--cancel", 10, "--busy", 5, "--never", 5]
RACE = ["--race", 100]
LOSS = ["--cancel", 10, "--race", 20, "--busy", 5, "--never", 5, "--lose", 5]
MODES = ["load", "nodes", "race", "loss"]
WAKE_TIMEOUT = 3
# A REGISTER that is lost four times comes 7.5 s after the first.
WAKE_TIMEOUT_OF_LOSS = 9
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


def nodes_of(server):
    """Those that are looked at when a run is over."""
    return getattr(server, "nodes", [server])


def warm_up(server, users):
    """Registers everybody and plays calls of each kind, so that what Kamailio makes once is made."""
    server.register(users)
    # A phone that registered at another node a second ago is rung there at once.
    settle(2.1 if len(nodes_of(server)) > 1 else 0)
    server.calls(users, 300, "--users", users, *LOAD)
    for node in nodes_of(server):
        node.wait_idle(TIMERS_END)


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
    states = [(node, node.shared_memory(), memory_by_owner(node)) for node in nodes_of(server)]
    begin, dropped = time.monotonic(), packets_dropped()
    found = server.calls(count, rate, "--users", users, "--linger-ms", 2000, *options)
    print(f"  {count:,} calls in {time.monotonic() - begin:.0f} s, sent again {found['resends']}, final codes {found['finals']}, "
          f"INVITE to push p99 {found['push_p99_ms']:.1f} ms, REGISTER to INVITE p99 {found['join_p99_ms']:.1f} ms; dropped by this machine {packets_dropped() - dropped}")
    check("every call ended as it should", found["ok"] == count,
          f"{found['wrong']} with another code, {found['unfinished']} not at all")
    check("no phone rings on", found["left_ringing"] == 0, found["left_ringing"])
    check("nobody was pushed or called twice", found["doubled_pushes"] + found["doubled_invites"] == 0,
          f"{found['doubled_pushes']} pushes, {found['doubled_invites']} INVITEs")
    for node, before, owners in states:
        after(node, before, owners)


def play(directory, mode, arguments, keys):
    """One mode, on servers of its own."""
    load = arguments.rate * arguments.seconds
    calls, options = {"load": (load, LOAD), "nodes": (load, LOAD), "race": (arguments.races, RACE), "loss": (load // 3, LOSS)}[mode]
    server = (CallNodes(directory / mode, keys, wake_timeout=WAKE_TIMEOUT) if mode == "nodes"
              else CallServer(directory / mode, arguments.way, keys,
                              wake_timeout=WAKE_TIMEOUT_OF_LOSS if mode == "loss" else WAKE_TIMEOUT))
    try:
        run(server, calls, arguments.rate, arguments.users, options)
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    # Python 3.11 holds the default against the choices too.
    parser.add_argument("modes", metavar="mode", nargs="*", choices=[*MODES, []], default=[],
                        help=f"{', '.join(MODES)}; without any: all")
    parser.add_argument("--rate", type=int, default=300, help="calls a second")
    parser.add_argument("--seconds", type=int, default=60, help="length of the load")
    parser.add_argument("--races", type=int, default=24_000)
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--way", choices=["TSILO", "PUSHWAKE"], default="PUSHWAKE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pushwake-load-") as directory:
        keys = make_keys(Path(directory) / "keys")
        for mode in arguments.modes or MODES:
            print(f"\n{mode}", flush=True)
            play(Path(directory), mode, arguments, keys)
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("\nall as it should be")


if __name__ == "__main__":
    main()
