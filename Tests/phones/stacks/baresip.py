# SPDX-License-Identifier: MIT
"""A baresip, steered through its ctrl_tcp module."""

import json
import os
import re
import socket
import subprocess
import threading

from ports import free_port
from proxy import HOST
from servers import wait_until
from sip import Message
from softphone import Softphone

MODULES = "/usr/lib/baresip/modules"
CONFIG = """poll_method epoll
sip_listen {bind}
sip_cafile {authority}
sip_verify_server yes
net_interface {bind}
module_path {modules}
module g711.so
module aubridge.so
module aufile.so
module_tmp uuid.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen {host}:{control}
audio_source aufile,/usr/share/sounds/linphone/hello8000.wav
audio_player aubridge,nil
audio_alert aubridge,bell
"""
# It has no setting for the Contact's parameters; what follows q is taken as it stands.
NEW_ACCOUNT = ('<{identity}>;auth_user={user};auth_pass={password};outbound="sip:{server}";regint={expires}'
               ';sipnat=outbound;regq="0.5{push}"')
STATES = {"CALL_INCOMING": "ringing", "CALL_RINGING": "early", "CALL_PROGRESS": "early",
          "CALL_ESTABLISHED": "established", "CALL_CLOSED": "ended"}
TRACED = re.compile(
    r"^\x1b\[[\d;]*m#\n(?:UDP|TCP|TLS) (\S+) -> (\S+)\n(.*?)\x1b\[;m$", re.M | re.S)


class Baresip(Softphone):
    stack = "baresip"
    declines_with = (486,)
    refreshes = False

    def _launch(self, run, settings):
        settings |= {"modules": MODULES, "host": HOST, "control": free_port()}
        (run / "config").write_text(CONFIG.format(**settings))
        (run / "uuid").write_text(self.instance.strip("<>").removeprefix("urn:uuid:"))
        self.names = []  # Call-IDs, in the order of the calls
        output = (run / "log").open("w")
        (run / "stderr").touch()
        self.process = subprocess.Popen(
            ["baresip", "-4", "-s", "-v", "-f", run], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=run,
            env={**os.environ, "HOME": str(run)})
        self.control = wait_until("baresip takes commands", lambda: self._connect(settings["control"]))
        threading.Thread(target=self._listen, args=(self.control, self.events, self.calls), daemon=True).start()
        # Not earlier: it tells nobody what was before this connection.
        self._command("uanew", NEW_ACCOUNT.format(**settings))

    def _connect(self, port):
        assert self.process.poll() is None, self.transcript()
        try:
            control = socket.create_connection((HOST, port))
        except OSError:
            return None
        if control.getsockname() != control.getpeername():
            return control
        control.close()  # where nobody listens yet, a socket may reach itself
        return None

    def tell(self, do, **arguments):
        command, parameter = {
            "call": ("dial", arguments.get("uri")), "answer": ("accept", None), "decline": ("hangup", None),
            "hang_up": ("hangup", None), "hold": ("hold", None), "unhold": ("resume", None),
            "transfer": ("transfer", arguments.get("uri")), "quit": ("quit", None)}[do]
        self._command(command, parameter)

    def _command(self, command, parameter=None):
        text = json.dumps({"command": command} | ({"params": parameter} if parameter else {})).encode()
        self.control.sendall(b"%d:%s," % (len(text), text))

    def _listen(self, control, events, calls):
        """Reads netstrings."""
        rest = b""
        while True:
            try:
                data = control.recv(65536)
            except OSError:
                data = b""
            if not data:
                return
            rest += data
            while b":" in rest:
                length, text = rest.split(b":", 1)
                if len(text) <= int(length):
                    break
                self._hear(json.loads(text[:int(length)]), events, calls)
                rest = text[int(length) + 1:]

    def _hear(self, told, events, calls):
        kind = told.get("type", "")
        if kind == "REGISTER_OK":
            self._take({"event": "registered"}, events, calls)
        elif kind == "REGISTER_FAIL":
            self._take({"event": "refused", "code": self._code(told), "reason": told.get("param", "")}, events, calls)
        elif kind in STATES:
            self._take({"event": "call", "call": self._number(told, calls), "state": STATES[kind],
                        "way": "in" if told.get("direction") == "incoming" else "out",
                        "code": self._code(told)}, events, calls)
        elif not told.get("response", False) or not told.get("ok", True):
            events.append({"event": "other", **told})

    @staticmethod
    def _code(told):
        found = re.match(r"(\d{3}) ", told.get("param", ""))
        return int(found[1]) if found else 0

    def _number(self, told, calls):
        """Calls are told by Call-ID, which the branches of one forked call share."""
        alive = [n for n, name in enumerate(self.names) if name == told.get("id") and calls[n].state != "ended"]
        if alive and told["type"] != "CALL_INCOMING":
            return alive[-1]
        self.names.append(told.get("id"))
        return len(self.names) - 1

    @property
    def messages(self):
        """It shows them in its menu alone."""
        return [m.text.split("\n\n", 1)[1] for m in self.received("MESSAGE")]

    def hold(self):
        self._offer("hold")

    def unhold(self):
        self._offer("unhold")

    def _offer(self, do):
        """Waits for the answer, since it says nothing of its own hold either."""
        def answers():
            return sum(1 for m in self.trace() if not m.sent and m.status == 200 and "INVITE" in m.headers("CSeq")[0])

        before = answers()
        self.tell(do)
        self.wait(do, lambda: answers() > before)

    def wait_held(self, held=True):
        """It does not say; the offer of the other side does."""
        def seen():
            offers = [m for m in self.trace() if not m.sent and m.method == "INVITE"]
            return len(offers) > 1 and bool(re.search("a=(sendonly|inactive)", offers[-1].text)) == held

        self.wait(f"held: {held}", seen)

    def trace(self):
        log = (self.runs[-1] / "log").read_text(errors="replace").replace("\r", "")
        proxy = (f"{HOST}:{self.proxy.port}", f"{HOST}:{self.proxy.tls_port}")
        return self._once(
            Message(0, target in proxy, text.strip("\n")) for _, target, text in TRACED.findall(log))
