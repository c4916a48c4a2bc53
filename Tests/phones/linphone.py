# SPDX-License-Identifier: MIT
"""A Linphone."""

import json
import pathlib
import re

from sip import Message
from softphone import Softphone

WORKER = pathlib.Path(__file__).parent / "linphone_worker.py"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3} "
TRACED = re.compile(
    rf"^{STAMP}belle-sip-message-channel \[\S+\]: (message sent to|received \[\d+\] new bytes from) [^\n]*\n"
    rf"((?:SIP/2\.0 |[A-Z]+ sip).*?)(?=^{STAMP}|\Z)", re.M | re.S)


class Linphone(Softphone):
    stack = "linphone"

    def _command(self, settings):
        return ["/usr/bin/python3", WORKER, json.dumps(settings)]

    def trace(self):
        log = self.runs[-1] / "log"
        text = log.read_text(errors="replace").replace("\r", "") if log.exists() else ""
        return self._once(Message(0, way.startswith("message"), body.strip("\n")) for way, body in TRACED.findall(text))
