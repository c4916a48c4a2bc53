# SPDX-License-Identifier: MIT
"""A Linphone."""

import json
import pathlib
import re
import sys

from sip import Message
from softphone import Softphone

WORKER = pathlib.Path(__file__).parent / "linphone_worker.py"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3} "
CHUNK = re.compile(
    rf"^{STAMP}belle-sip-message-channel \[(\S+)\]: (message sent to|received \[\d+\] new bytes from) [^\n]*\n(.*?)\n?"
    rf"(?=^{STAMP}|\Z)", re.M | re.S)
START = re.compile(r"^(?=SIP/2\.0 \d{3} |[A-Z]+ sips?:\S+ SIP/2\.0$)", re.M)

LISTENS_NOWHERE, LISTENS_SOMEWHERE = -2, -1


class Linphone(Softphone):
    """Quirk: `listening_port`; apps listen nowhere, the desktop does."""

    stack = "linphone"
    usual = {"listening_port": LISTENS_NOWHERE}

    def _command(self, settings):
        return [sys.executable, WORKER, json.dumps(settings)]

    def trace(self):
        log = self.runs[-1] / "log"
        text = log.read_text(errors="replace").replace("\r", "") if log.exists() else ""
        found, rest = [], {}
        for channel, way, chunk in CHUNK.findall(text):
            if way.startswith("message"):
                found.append(Message(0, True, chunk.strip("\n")))
                continue
            # What came in is shown as it was read: a message may stand in two pieces, or two in one.
            whole = "" if START.match(chunk) else rest.pop(channel, "")
            messages = [m for m in START.split(whole + chunk) if m.strip()]
            found = [m for m in found if not whole or m.text != whole.strip("\n")]
            found += [Message(0, False, m.strip("\n")) for m in messages]
            rest[channel] = messages[-1] if messages else ""
        return self._once(found)
