#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A phone that sleeps rings behind an Asterisk that knows nothing of push: Kamailio stands before it as gateway.

The phone registers through the gateway, is killed, Asterisk's registration would have ended twice, and then its
extension is dialled. Prints what happens, with milliseconds since the INVITE. Exit status 1: the phone did not ring.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / "e2e-asterisk"), str(ROOT / "Tests" / "e2e")]

from asterisk_server import Asterisk, ChrootSimulator  # noqa: E402
from gateway_pair import DIALPLAN, Gateway, strip  # noqa: E402
from workplace import Workplace  # noqa: E402

EXPIRES = 12
"""Seconds that Asterisk keeps a registration here; usually an hour."""


class Timeline:
    """What happened when, counted from the INVITE."""

    def __init__(self):
        self.lines = []

    def note(self, text, at=None):
        self.lines.append((at or time.monotonic(), text))

    def show(self):
        self.lines.sort()
        for at, text in self.lines:
            print(f"  {(at - self.lines[0][0]) * 1000:8.1f} ms  {text}")


def prepare():
    print("Asterisk 22 in a chroot (made by the first run, which takes some minutes) ...", flush=True)
    made = subprocess.run([ROOT / "scripts/chroot/asterisk-chroot.sh"], stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout.strip()


def play(gateway, asterisk):
    with gateway.phone("101") as phone:
        reply = phone.register(gateway.push, [("X-PIID", ha1())])
        assert reply.status == 200, reply.raw
    print(f"\nThe phone has registered through the gateway ({reply['Feature-Caps']}) and is killed.")
    show_contact(asterisk)
    print(f"Asterisk forgets a registration after {EXPIRES} s; {2 * EXPIRES + 2} s pass ...", flush=True)
    time.sleep(2 * EXPIRES + 2)
    show_contact(asterisk)
    timeline = Timeline()
    print("Extension 101 is dialled in Asterisk:\n")
    gateway.rings(asterisk, "101", phone.instance, timeline.note)
    timeline.show()


def ha1():
    return hashlib.md5(b"101:asterisk:101-secret").hexdigest()


def show_contact(asterisk):
    found = re.findall(r"Contact:\s+101/(sip:[^@\s]+)", asterisk.cli("pjsip show aor 101"))
    assert found, "Asterisk has no Contact for 101"
    print(f"Asterisk sees 101 registered as {found[0]}")


def main():
    root = prepare()
    workplace = Workplace(root)
    simulator = ChrootSimulator(workplace)
    empty = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-demo-")) / "none"
    empty.write_text("")
    asterisk = Asterisk(workplace, "demo", empty)
    gateway = None
    try:
        simulator.start()
        asterisk.add_phone("101")
        asterisk.write("extensions.conf", DIALPLAN)
        strip(asterisk)
        asterisk.start()
        gateway = Gateway(empty.parent, simulator, asterisk, upper_expire=EXPIRES).start()
        play(gateway, asterisk)
    except (AssertionError, OSError) as problem:
        print(f"\nThe phone did not ring: {problem}\n")
        print("\n".join(asterisk.log().splitlines()[-30:]))
        if gateway:
            print(gateway.tail())
        return 1
    finally:
        if gateway:
            gateway.stop()
        asterisk.stop()
        simulator.stop()
        workplace.remove()
    print("\nThe phone rang.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
