# SPDX-License-Identifier: MIT
"""What a test does with a phone, whichever library it is made of."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import threading
import uuid

from phones import Push
from ports import free_port
from proxy import HOST, PASSWORD
from servers import wait_until


def fcm_push():
    """As phones.rfc8599_fcm(), but short: PJSIP keeps a Contact in 256 bytes, baresip its parameters too."""
    token = f"{uuid.uuid4().hex[:22]}:APA91b{uuid.uuid4().hex}"
    return Push("RFC 8599 fcm", token, contact=";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@TOKEN@")


@dataclasses.dataclass
class Call:
    """A call as its phone sees it."""

    number: int
    way: str
    states: list = dataclasses.field(default_factory=list)
    code: int = 0
    held: bool = False  # by the other side
    holds: bool = False

    @property
    def state(self):
        return self.states[-1] if self.states else "none"


class Softphone:
    """One account on one device. The process is replaced when the phone is killed and wakes; the rest stays."""

    stack = "none"
    usual = {}  # what `quirks` may change
    environment = {}
    # What not every stack can do.
    declines_with = (486, 603)
    refreshes = True

    def __init__(self, proxy, user, directory, simulator, *, transport="udp", push=None, instance=None,
                 password=PASSWORD, domain=None, **quirks):
        # Of another domain than the server that it sends to: that one is its outbound proxy.
        self.domain = domain
        self.proxy, self.user, self.simulator, self.transport = proxy, user, simulator, transport
        self.push = push or fcm_push()
        self.instance = instance or f"<urn:uuid:{uuid.uuid4()}>"
        self.password, self.quirks = password, quirks
        self.directory = directory
        self.runs = []  # one directory per process
        self.process = None
        self.pushes_seen = 0
        self._forget()

    def _forget(self):
        self.events, self.calls = [], {}

    # The process

    def start(self):
        """A new process at a new port, with the same account and token."""
        assert self.process is None or self.process.poll() is not None, f"{self} runs"
        run = self.directory / f"{self.user}-{self.stack}-{uuid.uuid4().hex[:6]}-{len(self.runs)}"
        run.mkdir()
        self.runs.append(run)
        self._forget()
        self._launch(run, {
            "user": self.user, "password": self.password, "transport": self.transport, "expires": 600,
            "server": self.proxy.address(self.transport),
            "registrar": f"sip:{self.domain or self.proxy.address(self.transport)}",
            "outbound": f"sip:{self.proxy.address(self.transport)};lr" if self.domain else "",
            "identity": f"sip:{self.user}@{self.domain or HOST}", "push": self.push.named(self.push.contact),
            "instance": self.instance, "authority": str(self.proxy.certificate.authority), "port": free_port(),
            "bind": HOST, "log": str(run / "log"), **self.usual, **self.quirks})
        return self

    def _launch(self, run, settings):
        self.process = subprocess.Popen(
            self._command(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=(run / "stderr").open("w"),
            cwd=run, env={**os.environ, "HOME": str(run), **self.environment}, text=True, bufsize=1)
        threading.Thread(target=self._read, args=(self.process, self.events, self.calls), daemon=True).start()

    def _command(self, settings):
        raise NotImplementedError

    def _read(self, process, events, calls):
        for line in process.stdout:
            self._take(json.loads(line), events, calls)

    @staticmethod
    def _take(event, events, calls):
        if event["event"] == "call":
            call = calls.setdefault(event["call"], Call(event["call"], event["way"]))
            call.code = event["code"]
            if call.state != event["state"]:
                call.states.append(event["state"])
        elif event["event"] == "media":
            calls[event["call"]].held, calls[event["call"]].holds = event["held"], event["holds"]
        events.append(event)

    def kill(self):
        """As a mobile system ends an app: no unregistering, sockets gone."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return self

    def sign_off(self):
        """As a user leaves: unregisters, then ends."""
        self.tell("quit")
        self.process.wait(10)
        return self

    def asleep(self):
        """Registers, and is killed."""
        return self.start().registered().kill()

    def suspend(self):
        """As a mobile system suspends an app: its sockets stay open and take bytes that nobody reads."""
        self.process.send_signal(signal.SIGSTOP)
        return self

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        return self

    def tell(self, do, **arguments):
        print(json.dumps({"do": do, **arguments}), file=self.process.stdin, flush=True)

    # Registration and pushes

    def _told(self, event, count=1):
        return [e for e in list(self.events) if e["event"] == event][count - 1:]

    def wait(self, what, predicate, seconds=8):
        """Waits for a condition; a failure tells what this phone saw."""
        def checked():
            assert self.process.poll() is None, f"{self} has ended"
            assert not self._told("error"), f"{self} could not do what it was told"
            return predicate()

        try:
            return wait_until(f"{self}: {what}", checked, seconds, 0.01)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.transcript()}") from None

    def registered(self):
        """Waits until the registrar has said 200."""
        self.wait("registered", lambda: self._told("registered"))
        return self

    def registered_times(self, times):
        """Waits until the registrar has said 200 so many times."""
        self.wait(f"registered {times} times", lambda: self.statuses("REGISTER").count(200) >= times)
        return self

    def wait_refused(self):
        return self.wait("refused", lambda: self._told("refused"))[0]

    def pushes(self):
        return self.simulator.pushes(self.push.token)

    def wait_push(self, seconds=5):
        """The next push that this phone was sent; its process need not run."""
        pushed = self.simulator.wait_push(self.push.token, seconds, after=self.pushes_seen)
        self.pushes_seen += 1
        return pushed

    def wake(self, seconds=5):
        """Starts again when a push has come."""
        self.wait_push(seconds)
        return self.kill().start()

    def refresh(self):
        """What an app that runs does when a push comes: it registers again."""
        before = len(self._told("registered"))
        self.tell("refresh")
        self.wait("registered again", lambda: len(self._told("registered")) > before)

    # Calls

    @property
    def call_now(self):
        """The latest call, which may have ended."""
        return max(self.calls.values(), key=lambda call: call.number, default=Call(-1, "none"))

    @property
    def rung(self):
        """The incoming calls that this process showed its user."""
        return [call for call in list(self.calls.values()) if call.way == "in"]

    def wait_state(self, *states, seconds=8):
        self.wait(" or ".join(states), lambda: self.call_now.state in states, seconds)
        return self.call_now

    def wait_ringing(self, seconds=8):
        return self.wait_state("ringing", seconds=seconds)

    def wait_established(self, seconds=8):
        return self.wait_state("established", seconds=seconds)

    def wait_ended(self, seconds=8):
        return self.wait_state("ended", seconds=seconds)

    def wait_held(self, held=True):
        self.wait(f"held: {held}", lambda: self.call_now.held == held)

    def call(self, user):
        invites = len(self.statuses("INVITE"))
        self.tell("call", uri=self.proxy.uri(user, self.transport))
        self.wait("the call is under way", lambda: len(self.statuses("INVITE")) > invites)

    def answer(self):
        self.tell("answer")

    def decline(self, status):
        assert status in self.declines_with
        self.tell("decline", status=status)

    def hang_up(self):
        """Ends the call: a CANCEL, if nobody has answered yet."""
        self.tell("hang_up")

    def hold(self):
        self.tell("hold")
        self.wait("it holds", lambda: self.call_now.holds)

    def unhold(self):
        self.tell("unhold")
        self.wait("it holds no longer", lambda: not self.call_now.holds)

    def wait_packets(self):
        """Waits until sound has come in."""
        def packets():
            answers = len(self._told("packets"))
            self.tell("packets")
            return self.wait("packets", lambda: self._told("packets", answers + 1))[-1]["received"] > 0

        self.wait("sound", packets)

    def send_message(self, user, text):
        self.tell("message", uri=self.proxy.uri(user, self.transport), text=text)

    def wait_sent(self):
        return self.wait("the message is answered", lambda: self._told("sent"), 25)[-1]["code"]

    @property
    def messages(self):
        return [e["text"] for e in self._told("message")]

    def wait_message(self, seconds=8):
        return self.wait("a message", lambda: self.messages, seconds)

    # What was on the wire

    def trace(self):
        """The messages of this process, oldest first; a repeated one stands once."""
        raise NotImplementedError

    @staticmethod
    def _once(messages):
        return list({(m.sent, m.text): m for m in messages if m.first_line}.values())

    def received(self, method):
        """Requests that came in; INVITEs without those inside a call."""
        found = [m for m in self.trace() if not m.sent and m.method == method]
        return [m for m in found if method != "INVITE" or not re.search(r";\s*tag=", m.headers("To")[0])]

    def statuses(self, method="INVITE"):
        """The answers to what this phone has sent."""
        return [m.status for m in self.trace() if not m.sent and m.status and method in m.headers("CSeq")[0]]

    def statuses_sent(self, method="INVITE"):
        """What this phone has answered."""
        return [m.status for m in self.trace() if m.sent and m.status and method in m.headers("CSeq")[0]]

    def transcript(self):
        told = [json.dumps(event) for event in list(self.events)]
        lines = [f"--- {self} in {self.runs[-1]}", *(t for t, after in zip(told, [*told[1:], ""]) if t != after)]
        lines += [f"  {'>' if m.sent else '<'} {m.first_line}" for m in self.trace()]
        if self.process.poll() is not None:
            lines.append((self.runs[-1] / "stderr").read_text(errors="replace")[-2000:])
        return "\n".join(lines)

    def __str__(self):
        return f"{self.stack} phone of {self.user}"
