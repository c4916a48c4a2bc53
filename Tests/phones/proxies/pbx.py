# SPDX-License-Identifier: MIT
"""A real Asterisk in a chroot as the phones see it: with the module, and with no word of push in its dialplan."""

import pathlib
import subprocess

from asterisk_server import Asterisk, ChrootSimulator
from proxy import HOST, Certificate
from workplace import Workplace

ROOT = pathlib.Path(__file__).resolve().parents[3]
USERS = [str(number) for number in range(101, 190)]


class PBX:
    """Asterisk with all users, and the simulator beside it."""

    def __init__(self):
        made = subprocess.run([ROOT / "scripts/chroot/asterisk-chroot.sh"], stdout=subprocess.PIPE, text=True, check=True)
        self.workplace = Workplace(made.stdout.strip())
        self.simulator = ChrootSimulator(self.workplace)
        self.asterisk = None

    def prepare(self, module, dialplan):
        self.simulator.start()
        self.asterisk = Asterisk(self.workplace, "phones", module)
        for user in USERS:
            self.asterisk.add_phone(user)
        self.asterisk.write("extensions.conf", dialplan)

    def stop(self):
        if self.asterisk:
            self.asterisk.stop()
        self.simulator.stop()
        self.workplace.remove()


class WakingPBX(PBX):
    """Phones register at it, and it wakes them."""

    DIALPLAN = """[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
exten => _2XX.,1,Dial(PJSIP/${EXTEN:1:3}&PJSIP/${EXTEN:4:3},40)
exten => _3XX.,1,AddQueueMember(support,PJSIP/${EXTEN:1})
 same => n,Queue(support,,,,40)
"""

    def start(self, directory):
        self.certificate = Certificate(directory)
        root = self.workplace.root
        subprocess.run(["make", "-s", "-C", ROOT / "asterisk-glue", f"ASTERISK_ROOT={root}"], check=True)
        self.prepare(ROOT / "asterisk-glue/build/res_pushwake.so", self.DIALPLAN)
        self.asterisk.add_modules("res_pjsip_refer")
        self.asterisk.write("queues.conf", "[support]\nstrategy = ringall\ntimeout = 20\nretry = 1\nringinuse = no\n")
        self.asterisk.settings(**self.simulator.settings(), wake_timeout=20)
        self.asterisk.start()
        self.asterisk.wait_engine()
        self.port = self.tls_port = self.asterisk.sip_port
        return self

    def address(self, transport):
        """Where phones send to."""
        return f"{HOST}:{self.port};transport={transport}"

    def uri(self, user, transport):
        """Whom they call: an extension."""
        return f"sip:{user}@{self.address(transport)}"
