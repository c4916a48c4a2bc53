#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sleeping phones ring behind a real Asterisk whose dialplan knows nothing of push, with simulated Apple and Google.

Prints what happens, with milliseconds since the INVITE. Exit status 1: the phone did not ring.
"""

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / "e2e-asterisk"), str(ROOT / "Tests" / "e2e")]

from asterisk_server import Asterisk, ChrootSimulator  # noqa: E402
from phones import apns_token, fcm_token  # noqa: E402
from sip_phone import Phone  # noqa: E402
from workplace import Workplace  # noqa: E402

DIALPLAN = """[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
exten => 600,1,Dial(PJSIP/100&PJSIP/101,40)
exten => 700,1,Answer()
 same => n,Queue(sales)
"""
QUEUES = "[general]\n[sales]\nstrategy = ringall\ntimeout = 30\nmember => PJSIP/100\n"

CASES = [
    ("APNs, UDP", "100", "udp", ";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=", apns_token),
    ("FCM, TCP", "100", "tcp", ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=", fcm_token),
    ("a ring group", "600", "tcp", ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=", fcm_token),
    ("a queue", "700", "tcp", ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=", fcm_token),
]


class Timeline:
    """What happened when, counted from the INVITE."""

    def __init__(self, started):
        self.started, self.lines = started, []

    def note(self, text, at=None):
        self.lines.append(((at or time.monotonic()) - self.started, text))

    def show(self):
        for at, text in sorted(self.lines):
            print(f"  {at * 1000:8.1f} ms  {text}")


def prepare():
    print("Asterisk 22 in a chroot (made by the first run, which takes some minutes) ...", flush=True)
    made = subprocess.run([ROOT / "scripts/chroot/asterisk-chroot.sh"], stdout=subprocess.PIPE, text=True, check=True)
    root = made.stdout.strip()
    build = ["make", "-s", "--no-print-directory", "-C", ROOT / "asterisk-glue", f"ASTERISK_ROOT={root}"]
    subprocess.run(build, stdout=subprocess.DEVNULL, check=True)
    return root


def play(asterisk, simulator, title, number, transport, parameters, make_token):
    token = make_token()
    parameters += token
    with Phone("100", asterisk.address, transport) as phone:
        reply = phone.register(parameters)
        assert reply.status == 200, reply.start
        instance = phone.instance
    print(f"\n{title}: the phone has registered ({reply['Feature-Caps'] or 'no push'}) and closed its socket")

    with Phone("caller", asterisk.address) as caller:
        call = caller.call(number)
        timeline = Timeline(call.started)
        timeline.note(f"caller   INVITE {number}")
        heard = call.expect(200 if number == "700" else 180)
        timeline.note(f"caller   {heard.start.split(' ', 1)[1]}", heard.at)
        push = simulator.wait_push(token)
        timeline.note(f"provider {push['provider']} accepts the push", time.monotonic() - time.time() + push["t"])
        with Phone("100", asterisk.address, transport) as awake:
            awake.instance = instance
            timeline.note(f"phone    wakes, REGISTER from port {awake.port}")
            awake.register(parameters)
            invite = awake.expect_request("INVITE")
            timeline.note("phone    INVITE: it rings", invite.at)
            awake.ring(invite)
            awake.answer(invite)
            if number == "700":
                time.sleep(0.2)
            else:
                timeline.note("caller   200 OK", call.expect(200).at)
            call.end()
            awake.reply(awake.expect_request("BYE"), 200, "OK")
            timeline.note("caller   BYE")
    timeline.show()


def main():
    root = prepare()
    workplace = Workplace(root)
    simulator = ChrootSimulator(workplace)
    asterisk = Asterisk(workplace, "demo", ROOT / "asterisk-glue/build/res_pushwake.so")
    try:
        simulator.start()
        asterisk.add_phone("100")
        asterisk.add_phone("101")
        asterisk.write("extensions.conf", DIALPLAN)
        asterisk.write("queues.conf", QUEUES)
        print(f"\nThe dialplan, as it was before:\n\n{DIALPLAN}")
        asterisk.settings(**simulator.settings())
        asterisk.start()
        asterisk.wait_engine()
        for case in CASES:
            play(asterisk, simulator, *case)
    except (AssertionError, OSError) as problem:
        print(f"\nThe phone did not ring: {problem}\n")
        print("\n".join(asterisk.log().splitlines()[-30:]))
        return 1
    finally:
        asterisk.stop()
        simulator.stop()
        workplace.remove()
    print("\nAll rang.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
