#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sleeping phone rings behind a real Kamailio, with simulated Apple and Google.

Starts the simulator and Kamailio on free loopback ports, plays one call per provider with SIPp as caller and
phone, and prints each call's timeline. Exit status 1: a phone did not ring.

usage: scripts/demo/demo.py [--keep]    --keep: leave the directory with configuration and logs
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "e2e"))

from phones import Caller, Phone, mpush_ios, rfc8599_apns, rfc8599_fcm  # noqa: E402
from servers import LIBRARY, MODULE, PUSHWAKE, Kamailio, Simulator  # noqa: E402

CALLS = [
    ("APNs, RFC 8599, UDP", "anna", rfc8599_apns, False),
    ("FCM, RFC 8599, TCP", "felix", rfc8599_fcm, True),
    ("APNs, X-MPUSH, TCP", "mia", mpush_ios, True),
]


def first(messages, **wanted):
    """When a message was seen that has these attributes."""
    for message in messages:
        if all(getattr(message, name) == value for name, value in wanted.items()):
            return message.at
    return None


def timeline(caller, asleep, awake, push):
    called = first(caller.messages, sent=True, method="INVITE")
    steps = [
        (asleep.at, "REGISTER answered 200" + "".join(f", Feature-Caps: {c}" for c in asleep.headers("Feature-Caps"))),
        (called, "caller sends INVITE"),
        (first(caller.messages, sent=False, status=100), "caller gets 100 Trying"),
        (first(caller.messages, sent=False, status=110), "caller gets 110 Push Sent"),
        (max(push["t"], called), f"{push['provider']} has the push: {push['method']} {push['path'][:40]}… {push['status']}"),
        (first(awake.messages, sent=True, method="REGISTER"), f"phone wakes, registers from port {awake.port}"),
        (first(awake.messages, sent=False, method="INVITE"), "phone gets the INVITE"),
        (first(caller.messages, sent=False, status=180), "caller gets 180 Ringing"),
        (first(caller.messages, sent=False, status=200), "caller gets 200 OK"),
        (first(awake.messages, sent=False, method="BYE"), "phone gets BYE"),
    ]
    for at, text in steps:
        print(f"  {'' if at is None else format((at - called) * 1000, '9.1f'):>9} ms  {text}" if at is not None
              else f"      never     {text}")
    return all(at is not None for at, _ in steps)


def play(title, user, push, tcp, kamailio, simulator, directory):
    print(f"\n{title}")
    phone = Phone(kamailio, user, push(), directory, simulator, tcp=tcp)
    caller = None
    try:
        asleep = phone.register()
        caller = Caller(kamailio, user, directory, tcp=tcp).start("call")
        pushed = simulator.wait_push(phone.push.token)
        awake = phone.wake("answer")
        caller.finish()
        return timeline(caller, asleep, awake, pushed)
    except (AssertionError, subprocess.TimeoutExpired) as reason:
        print(f"  it did not ring: {reason}")
        return False
    finally:
        phone.stop()
        if caller:
            caller.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--keep", action="store_true", help="leave the directory with configuration and logs")
    keep = options.parse_args().keep
    missing = [p for p in (PUSHWAKE, LIBRARY, MODULE) if not p.exists()]
    if missing or not shutil.which("sipp") or not shutil.which("kamailio"):
        print(f"demo: missing {', '.join(map(str, missing)) or 'sipp or kamailio'}; run make demo", file=sys.stderr)
        return 1

    directory = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-demo-"))
    with contextlib.ExitStack() as stack:
        (directory / "simulator").mkdir()
        (directory / "kamailio").mkdir()
        simulator = Simulator(directory / "simulator")
        stack.callback(simulator.stop)
        simulator.start()
        kamailio = Kamailio(directory / "kamailio", simulator, wake_timeout=10)
        stack.callback(kamailio.stop)
        kamailio.start().wait_engine()
        print(f"Kamailio on 127.0.0.1:{kamailio.port} (UDP and TCP), Apple and Google at {simulator.url}")
        print("Milliseconds since the INVITE:")
        rang = [play(*call, kamailio, simulator, directory) for call in CALLS]
    if keep or not all(rang):
        print(f"\nLogs and configuration: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    print("\nAll phones rang." if all(rang) else "\nA phone did not ring.")
    return 0 if all(rang) else 1


if __name__ == "__main__":
    sys.exit(main())
