# SPDX-License-Identifier: MIT
"""A real Asterisk without any module of ours, and the gateway of docs/gateway.md before it, as the phones see them."""

import subprocess
import types

from gateway_pair import Gateway, strip
from pbx import PBX
from peers.upstream import REALM, name_server
from proxy import HOST, Certificate
from servers import PUSHWAKE

DIALPLAN = """[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
[messages]
exten => _1XX,1,MessageSend(pjsip:${EXTEN},${MESSAGE(from)})
"""


class Server(PBX):
    """Asterisk as a distribution ships it: calls by extension, messages to extensions."""

    def start(self, directory):
        nothing = directory / "nothing"
        nothing.touch()
        self.prepare(nothing, DIALPLAN)
        strip(self.asterisk)
        self.asterisk.start()
        return self

    def contacts(self, user):
        """What Asterisk has of a user."""
        return [line for line in self.asterisk.cli(f"pjsip show aor {user}").splitlines() if f"Contact:  {user}/" in line]


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
