#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two Kamailios share their push bindings in Valkey: a phone that sleeps is called at one, wakes at the other, and rings.

Starts Valkey (or Redis), the simulator and both Kamailios on free loopback ports, and prints each call's timeline. The last
call comes while Valkey stands still. Exit status 1: a phone did not ring.

usage: scripts/demo/demo-nodes.py [--keep]    --keep: leave the directory with configuration and logs
"""

import argparse
import contextlib
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "e2e"))

from peers.valkey import Valkey  # noqa: E402
from phones import rfc8599_fcm  # noqa: E402
from servers import NODES, Kamailio, Simulator, wait_until  # noqa: E402
from wire_caller import WireCaller  # noqa: E402
from wire_phone import WirePhone  # noqa: E402


def node(directory, simulator, valkey):
    directory.mkdir()
    made = Kamailio(directory, simulator, config=NODES.read_text(), wake_timeout=10)
    made.set_up(store=valkey.url, node_uri=f"sip:127.0.0.1:{made.port}")
    return made


def show(title, steps):
    print(f"\n{title}")
    begin = steps[0][0]
    for at, text in steps:
        print(f"  {(at - begin) * 1000:9.1f} ms  {text}")


def sleeping(a, b, simulator):
    asleep = WirePhone(b, "anna", "tcp", rfc8599_fcm())
    promised = asleep.register().headers("Feature-Caps")
    asleep.sleep()
    call = WireCaller(a).call("anna")
    push = simulator.wait_push(asleep.push.token)
    awake = WirePhone(b, "anna", "tcp", asleep.push, instance=asleep.instance)
    registered = awake.register()
    invite = awake.wait_request("INVITE")
    answered = call.wait_status(200)
    show("Called at A, sleeps at B", [
        (call.sent_at, f"caller sends INVITE to A; the phone registered at B ({', '.join(promised)})"),
        (push["t"], f"{push['provider']} has the push"), (registered.at, "the phone has woken and registered at B"),
        (invite.at, "the phone gets the INVITE of A, through B"), (answered.at, "caller gets 200 OK")])


def without_store(a, valkey):
    awake = WirePhone(a, "felix", "tcp", rfc8599_fcm())
    awake.register()
    valkey.stand_still()
    call = WireCaller(a).call("felix")
    invite = awake.wait_request("INVITE")
    answered = call.wait_status(200)
    late = WirePhone(a, "mia", "tcp", rfc8599_fcm())
    registered = late.register()
    promised = registered.headers("Feature-Caps")
    valkey.go_on()
    wait_until("the REGISTER is stored", lambda: "mia" in (a.rpc("pushwake.list", "mia") or ""), 20)
    show("Valkey stands still, the phone is awake at A", [
        (call.sent_at, "caller sends INVITE to A"), (invite.at, "the phone gets the INVITE"), (answered.at, "caller gets 200 OK"),
        (registered.at, f"another phone registers: {'push is promised' if promised else 'nothing is promised'}, and it is stored "
                        "when Valkey goes on")])
    return not promised


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--keep", action="store_true", help="leave the directory with configuration and logs")
    keep = options.parse_args().keep
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-demo-"))
    with contextlib.ExitStack() as stack:
        for name in ("simulator", "valkey"):
            (directory / name).mkdir()
        simulator = Simulator(directory / "simulator")
        stack.callback(simulator.stop)
        simulator.start()
        valkey = Valkey(directory / "valkey")
        stack.callback(valkey.stop)
        valkey.start()
        a, b = (node(directory / name, simulator, valkey) for name in ("a", "b"))
        for each in (a, b):
            stack.callback(each.stop)
            each.start().wait_engine().wait_log("store: ", "connected")
        print(f"A: Kamailio on 127.0.0.1:{a.port}. B: Kamailio on 127.0.0.1:{b.port}. {valkey.url}")
        print("Milliseconds since the INVITE:")
        sleeping(a, b, simulator)
        went_well = without_store(a, valkey)
    if keep or not went_well:
        print(f"\nLogs and configuration: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    print("\nAll phones rang." if went_well else "\nSomething was promised that nobody had stored.")
    return 0 if went_well else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as reason:
        sys.exit(f"a phone did not ring: {reason}")
