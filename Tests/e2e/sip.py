# SPDX-License-Identifier: MIT
"""SIPp, what its message traces say, and single messages that SIPp would not send."""

import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import uuid

from ports import free_port

SCENARIOS = pathlib.Path(__file__).parent / "sipp"
_RULE = re.compile(r"^-{10,} (\d{4}-\d\d-\d\d)\s+(\d\d:\d\d:\d\d\.\d+)")


@dataclasses.dataclass
class Message:
    """One line of a SIPp message trace: when, which way, and the text."""

    at: float
    sent: bool
    text: str

    @property
    def first_line(self):
        return self.text.split("\n", 1)[0].strip()

    @property
    def status(self):
        """The code of an answer, 0 for a request."""
        parts = self.first_line.split(" ")
        return int(parts[1]) if parts[0] == "SIP/2.0" else 0

    @property
    def method(self):
        return "" if self.status else self.first_line.split(" ")[0]

    def headers(self, name):
        head = self.text.replace("\r", "").split("\n\n", 1)[0]
        lines = re.sub("\n[ \t]+", " ", head).split("\n")[1:]
        prefix = name.lower() + ":"
        return [line.split(":", 1)[1].strip() for line in lines if line.lower().startswith(prefix)]


def read_trace(path):
    if not path.exists():
        return []
    messages, at = [], 0.0
    blocks = re.split(r"^(?=-{10,} \d{4})", path.read_text(errors="replace"), flags=re.M)
    for block in blocks:
        found = _RULE.match(block)
        if not found:
            continue
        day, clock = found.groups()
        whole, fraction = clock.split(".")
        at = time.mktime(time.strptime(f"{day} {whole}", "%Y-%m-%d %H:%M:%S")) + float("0." + fraction)
        lines = block.split("\n", 2)
        if len(lines) < 3 or "message" not in lines[1]:
            continue
        messages.append(Message(at, "sent" in lines[1], lines[2].strip("\n")))
    return messages


class Sipp:
    """One SIPp process: one scenario, one call, its own socket."""

    def __init__(self, server, scenario, directory, *, tcp=False, port=None, pause=0, out_of_call=None, code=None,
                 keys=None, timeout=15):
        self.port = port or free_port()
        self.name = f"{scenario}-{self.port}"
        self.trace_path = directory / f"{self.name}.messages"
        self.error_path = directory / f"{self.name}.errors"
        command = [
            "sipp", f"127.0.0.1:{server}", "-sf", str(self._scenario(scenario, directory, code)),
            "-i", "127.0.0.1", "-p", str(self.port), "-t", "t1" if tcp else "u1", "-m", "1", "-nostdin",
            "-d", str(pause), "-timeout", str(timeout), "-timeout_error", "-trace_msg",
            "-message_file", str(self.trace_path), "-trace_err", "-error_file", str(self.error_path),
        ]
        if out_of_call:
            command += ["-oocsf", str(self._scenario(out_of_call, directory, code))]
        for key, value in (keys or {}).items():
            command += ["-key", key, str(value)]
        # SIPp draws its screen on stdout
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=directory)

    @staticmethod
    def _scenario(name, directory, code):
        text = (SCENARIOS / f"{name}.xml").read_text()
        if "@code@" not in text:
            return SCENARIOS / f"{name}.xml"
        path = directory / f"{name}-{code}.xml"
        path.write_text(text.replace("@code@", str(code)))
        return path

    @property
    def messages(self):
        return read_trace(self.trace_path)

    @property
    def statuses(self):
        return [m.status for m in self.messages if not m.sent and m.status]

    def received(self, method):
        return [m for m in self.messages if not m.sent and m.method == method]

    def wait_for(self, predicate, seconds=10):
        """Waits until the trace holds a message that fits; returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.messages:
                if predicate(message):
                    return message
            time.sleep(0.02)
        raise AssertionError(f"{self.name}: not seen in {seconds} s\n{self.transcript()}")

    def wait_status(self, status, seconds=10):
        return self.wait_for(lambda m: not m.sent and m.status == status, seconds)

    def wait_request(self, method, seconds=10):
        return self.wait_for(lambda m: not m.sent and m.method == method, seconds)

    def finish(self, seconds=16):
        """Waits for SIPp's end and asserts that the scenario went through."""
        code = self.process.wait(seconds)
        assert code == 0, f"{self.name} ended with {code}\n{self.transcript()}"
        return self

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def transcript(self):
        lines = [f"  {m.at} {'>' if m.sent else '<'} {m.first_line}" for m in self.messages]
        errors = self.error_path.read_text(errors="replace") if self.error_path.exists() else ""
        return "\n".join([f"--- {self.name}", *lines, errors])


def register(port, user, contact, extra=b"", every=5, times=1):
    """Sends a raw REGISTER over UDP, again every so many seconds; returns Call-ID and the answer's lines."""
    call_id = uuid.uuid4().hex
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind(("127.0.0.1", 0))
        phone.settimeout(every)
        local = phone.getsockname()[1]
        lines = [
            b"REGISTER sip:127.0.0.1 SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{local};branch=z9hG4bK{call_id}".encode(),
            f"From: <sip:{user}@127.0.0.1>;tag=1".encode(),
            f"To: <sip:{user}@127.0.0.1>".encode(),
            f"Call-ID: {call_id}".encode(),
            b"CSeq: 1 REGISTER",
            b"Contact: " + contact,
            *([extra] if extra else []),
            b"Expires: 600",
            b"Content-Length: 0",
        ]
        for _ in range(times):
            phone.sendto(b"\r\n".join(lines) + b"\r\n\r\n", ("127.0.0.1", port))
            try:
                return call_id, phone.recv(65535).decode(errors="replace").split("\r\n")
            except TimeoutError:
                pass
    return call_id, [""]


def invite(port, user, *extra):
    """Sends a raw INVITE over UDP with more header lines; returns the status of the first answer."""
    call_id = uuid.uuid4().hex
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.bind(("127.0.0.1", 0))
        caller.settimeout(5)
        local = caller.getsockname()[1]
        lines = [
            f"INVITE sip:{user}@127.0.0.1:{port} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{local};branch=z9hG4bK{call_id}",
            f'From: "Alice" <sip:alice@127.0.0.1>;tag={call_id[:8]}',
            f"To: <sip:{user}@127.0.0.1>",
            f"Call-ID: {call_id}",
            "CSeq: 1 INVITE",
            "Max-Forwards: 70",
            f"Contact: <sip:alice@127.0.0.1:{local}>",
            *extra,
            "Content-Length: 0",
        ]
        caller.sendto(("\r\n".join(lines) + "\r\n\r\n").encode(), ("127.0.0.1", port))
        return int(caller.recv(65535).split()[1])
