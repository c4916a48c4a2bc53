# SPDX-License-Identifier: MIT
"""A real Asterisk without any module of ours, and the gateway of docs/gateway.md before it, as the phones see them."""

import pathlib
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "Tests/e2e-asterisk"))

from asterisk_server import Asterisk, ChrootSimulator  # noqa: E402
from gateway_pair import Gateway, strip  # noqa: E402
from peers.upstream import REALM, name_server  # noqa: E402
from proxy import HOST, Certificate  # noqa: E402
from servers import PUSHWAKE  # noqa: E402
from workplace import Workplace  # noqa: E402

USERS = [str(number) for number in range(101, 150)]
DIALPLAN = """[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
[messages]
exten => _1XX,1,MessageSend(pjsip:${EXTEN},${MESSAGE(from)})
"""


class Server:
    """Asterisk as a distribution ships it: calls by extension, messages to extensions."""

    def __init__(self):
        made = subprocess.run([ROOT / "scripts/chroot/asterisk-chroot.sh"], stdout=subprocess.PIPE, text=True, check=True)
        self.workplace = Workplace(made.stdout.strip())
        self.simulator = ChrootSimulator(self.workplace)
        self.asterisk = None

    def start(self, directory):
        self.simulator.start()
        nothing = directory / "nothing"
        nothing.touch()
        self.asterisk = Asterisk(self.workplace, "phones", nothing)
        for user in USERS:
            self.asterisk.add_phone(user)
        self.asterisk.write("extensions.conf", DIALPLAN)
        strip(self.asterisk)
        self.asterisk.start()
        return self

    def contacts(self, user):
        """What Asterisk has of a user."""
        return [line for line in self.asterisk.cli(f"pjsip show aor {user}").splitlines() if f"Contact:  {user}/" in line]

    def stop(self):
        if self.asterisk:
            self.asterisk.stop()
        self.simulator.stop()
        self.workplace.remove()


class GatewayForPhones(Gateway):
    """The phones' outbound proxy. Their domain is pbx.example.com, as in the page; that is Asterisk, whatever DNS says."""

    domain = REALM

    def __init__(self, directory, server, **settings):
        self.certificate = Certificate(directory)
        self.upper = types.SimpleNamespace(port=server.asterisk.sip_port)
        super().__init__(directory, server.simulator, server.asterisk, upper_servers=REALM, **settings)

    def start(self):
        super().start()
        name_server(self, self.upper)
        return self

    def address(self, transport):
        """Where phones send to."""
        return f"{HOST}:{self.port};transport={transport}"

    def uri(self, user, transport):
        """Whom they call: somebody at Asterisk."""
        return f"sip:{user}@{self.domain}"

    def transcript(self, user):
        told = subprocess.run([PUSHWAKE, "trace", "--socket", self.settings["engine_socket"], user],
                              capture_output=True, text=True, timeout=10, check=False)
        return told.stdout + told.stderr
