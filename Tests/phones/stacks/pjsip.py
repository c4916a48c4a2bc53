# SPDX-License-Identifier: MIT
"""A PJSIP phone."""

import json
import pathlib
import re

from servers import ROOT
from sip import Message
from softphone import Softphone

PYTHON = ROOT / ".cache" / "phones-venv" / "bin" / "python"
WORKER = pathlib.Path(__file__).parent / "pjsip_worker.py"
TRACED = re.compile(r"^\S{12} +pjsua_core\.c +\.*(RX|TX) \d+ bytes [^\n]*:\n(.*?)^--end msg--$", re.M | re.S)


# What it does when the server saw another address than its Contact's (pjsua_contact_rewrite_method): unregister and
# register anew; replace the Contact in one REGISTER; or that, and at once when it is challenged, which is the default.
UNREGISTER, REPLACE, REPLACE_EARLY = 1, 2, 6


class PJSIP(Softphone):
    """Quirks: `published` (address in its Contact), `bind`, `rewrite`."""

    stack = "pjsip"
    usual = {"published": "", "rewrite": REPLACE_EARLY}
    # Fresh memory is zero: PJSIP 2.15 reads past the end of the Contact that it replaces, and may stop there.
    environment = {"MALLOC_PERTURB_": "255"}

    def _command(self, settings):
        return [PYTHON, WORKER, json.dumps(settings)]

    def trace(self):
        log = self.runs[-1] / "log"
        text = log.read_text(errors="replace").replace("\r", "") if log.exists() else ""
        return self._once(Message(0, way == "TX", body.strip("\n")) for way, body in TRACED.findall(text))
