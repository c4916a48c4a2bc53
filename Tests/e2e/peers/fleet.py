# SPDX-License-Identifier: MIT
"""Thousands of phones and one caller, each on one UDP socket: phones sleep, and register when they have been pushed."""

import collections
import dataclasses
import json
import re
import select
import socket
import threading
import time

from endpoint import new_branch, new_id

_HEADER = re.compile(rb"^(via|from|to|call-id|cseq|record-route)\s*:\s*(.*?)\r$", re.I | re.M)
_EVENT = re.compile(rb'"event"\s*:\s*"call"')


@dataclasses.dataclass
class Phone:
    """One account; it takes INVITEs at the address that it registered last after a push."""

    user: str
    token: str
    push: str
    """Parameters of its Contact."""
    dead: bool = False
    is_off: bool = False
    """In flight mode: no push reaches it."""
    generation: int = 0
    is_awake: bool = False
    call_id: str = dataclasses.field(default_factory=new_id)
    cseq: int = 0


def headers(data):
    """Those that an answer repeats, in order."""
    return [(name.decode(), value.decode()) for name, value in _HEADER.findall(data + b"\r")]


def field(data, name):
    return next((value for key, value in headers(data) if key.lower() == name), "")


class Socket:
    """Reads in a thread of its own."""

    def __init__(self, server, take):
        self.server, self._take = server, take
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self._is_open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def send(self, *lines):
        self.socket.sendto(("\r\n".join(lines) + "\r\n\r\n").encode(), ("127.0.0.1", self.server.port))

    def answer(self, data, status, tag=""):
        lines = [f"SIP/2.0 {status} Answer"]
        for name, value in headers(data):
            lines.append(f"{name}: {value};tag={tag}" if tag and name.lower() == "to" and ";tag=" not in value
                         else f"{name}: {value}")
        self.send(*lines, f"Contact: <sip:phone@127.0.0.1:{self.port}>", "Content-Length: 0")

    def _run(self):
        while self._is_open:
            ready, _, _ = select.select([self.socket], [], [], 0.1)
            if ready:
                self._take(self.socket.recv(65_536))

    def close(self):
        self._is_open = False
        self._thread.join(2)
        self.socket.close()


class Fleet:
    """All phones, and what the simulator's log says of their pushes."""

    def __init__(self, server, phones, simulator):
        self.phones = {phone.user: phone for phone in phones}
        self._by_token = {phone.token: phone for phone in phones}
        self._lock = threading.Lock()
        self._registered = {}
        self._woken = collections.deque()
        """When a woken phone sent its REGISTER last, and the REGISTER's number."""
        self._awaited = set()
        """Users who are being called."""
        self._socket = Socket(server, self._on_message)
        self._log = simulator.log
        self._is_open = True
        self._watch = threading.Thread(target=self._follow, daemon=True)
        self._watch.start()
        self.promised = set()
        """Users whose last REGISTER was answered with Feature-Caps."""

    def add(self, phones):
        """Further phones."""
        for phone in phones:
            self.phones[phone.user] = self._by_token[phone.token] = phone

    def remove(self, users):
        """Phones that are no part of it any more."""
        for user in list(users):
            del self._by_token[self.phones.pop(user).token]

    # Registrations

    def register(self, users, seconds=30):
        """Registers these, again and again until each has its 200; gives how many of them are promised a push."""
        left = list(users)
        end = time.monotonic() + seconds
        while left:
            assert time.monotonic() < end, f"{len(left)} REGISTERs have no answer"
            for begin in range(0, len(left), 50):
                part = left[begin:begin + 50]
                for user in part:
                    self.send_register(self.phones[user])
                self._wait_registered(part, 2)
            left = [user for user in left if self._registered.get(user, 0) < self.phones[user].cseq]
        return len(self.promised.intersection(users))

    def _wait_registered(self, users, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(self._registered.get(user, 0) >= self.phones[user].cseq for user in users):
                return
            time.sleep(0.002)

    def send_register(self, phone):
        phone.cseq += 1
        self._repeat_register(phone)

    def _repeat_register(self, phone):
        contact = f"sip:{phone.user}@127.0.0.1:{self._socket.port};n={phone.generation}{phone.push}"
        self._socket.send(
            "REGISTER sip:127.0.0.1 SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{self._socket.port};rport;branch={new_branch()}",
            f"From: <sip:{phone.user}@127.0.0.1>;tag={phone.cseq}", f"To: <sip:{phone.user}@127.0.0.1>",
            f"Call-ID: {phone.call_id}", f"CSeq: {phone.cseq} REGISTER",
            f'Contact: <{contact}>;+sip.instance="<urn:x:{phone.user}>"', "Expires: 3600", "Max-Forwards: 70",
            "Content-Length: 0")

    def _on_message(self, data):
        if data.startswith(b"SIP/2.0 "):
            number, method = field(data, "cseq").split()
            user = re.search(r"sip:([^@]+)@", field(data, "to")).group(1)
            if method == "REGISTER" and data[8:11] == b"200":
                (self.promised.add if b"Feature-Caps" in data else self.promised.discard)(user)
                self._registered[user] = max(self._registered.get(user, 0), int(number))
            return
        method = data.split(b" ", 1)[0]
        phone = self.phones.get(re.search(rb"sip:([^@]+)@", data).group(1).decode())
        generation = re.search(rb";n=(\d+)", data.split(b"\r\n", 1)[0])
        if method == b"INVITE":
            # A phone that sleeps hears nothing, and its address of before is nobody's.
            if phone and phone.is_awake and generation and int(generation.group(1)) == phone.generation:
                self._socket.answer(data, 180, tag=phone.user)
        elif method == b"CANCEL":
            self._socket.answer(data, 200)
            if phone:
                self._socket.answer(data.replace(b"CANCEL", b"INVITE"), 487, tag=phone.user)
        elif method != b"ACK":
            self._socket.answer(data, 200)

    # Pushes

    def _follow(self):
        place = self._log.stat().st_size if self._log.exists() else 0
        rest = b""
        while self._is_open:
            with self._log.open("rb") as file:
                file.seek(place)
                data = file.read()
            place += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._pushed(line.replace(b"\\/", b"/"))
            self._repeat_registers()
            if not data:
                time.sleep(0.002)

    def _repeat_registers(self):
        """Sends the REGISTERs of woken phones again that have no answer (RFC 3261, 17.1.2.2)."""
        now = time.monotonic()
        while self._woken and now - self._woken[0][0] > 0.5:
            _, phone, cseq = self._woken.popleft()
            if self._registered.get(phone.user, 0) < cseq == phone.cseq:
                self._repeat_register(phone)
                self._woken.append((now, phone, cseq))

    def _pushed(self, line):
        if not re.search(rb'"status"\s*:\s*20[01]', line) or not (_EVENT.search(line) or b"/push/" in line or b"voip" in line):
            return
        made = json.loads(line)
        token = made["path"].rsplit("/", 1)[-1]
        body = made.get("body")
        if made["provider"] == "fcm":
            token = body["message"]["token"]
        phone = self._by_token.get(token)
        if phone and phone.user in self._awaited and not phone.is_off:
            phone.generation += 1
            phone.is_awake = True
            self.send_register(phone)
            self._woken.append((time.monotonic(), phone, phone.cseq))

    # Calls

    def call_all(self, caller, users, at_once=150, seconds=60):
        """Calls each of these; gives those who did not ring in time."""
        for user in users:
            self.phones[user].is_awake = False
        with self._lock:
            self._awaited.update(users)
        try:
            return caller.ring(list(users), at_once, seconds)
        finally:
            with self._lock:
                self._awaited.difference_update(users)

    def close(self):
        self._is_open = False
        self._watch.join(2)
        self._socket.close()


class Caller:
    """Calls users, and hangs up as soon as they ring."""

    def __init__(self, server):
        self._server = server
        self._come = threading.Condition()
        self._calls = {}
        self._socket = Socket(server, self._on_message)

    def ring(self, users, at_once, seconds):
        """Calls each of these, so many at once; gives those who did not ring within the time, each with the call's end."""
        end = time.monotonic() + seconds
        missed, open_calls = {}, {}
        waiting = list(reversed(users))
        while time.monotonic() < end and (waiting or open_calls):
            while waiting and len(open_calls) < at_once:
                user = waiting.pop()
                open_calls[self.invite(user)] = user
            self._repeat(open_calls)
            with self._come:
                self._come.wait(0.02)
                ended = [call for call in open_calls if self._calls[call]["final"]]
            for call in ended:
                user = open_calls.pop(call)
                ended = self._calls.pop(call)
                if not ended["rang"]:
                    missed[user] = ended["final"]
        return missed | dict.fromkeys([*open_calls.values(), *waiting], 0)

    def invite(self, user):
        """Calls once; gives its Call-ID."""
        call_id, branch = new_id(), new_branch()
        target = f"sip:{user}@127.0.0.1:{self._server.port}"
        lines = [f"Via: SIP/2.0/UDP 127.0.0.1:{self._socket.port};rport;branch={branch}",
                 f"From: <sip:caller@127.0.0.1>;tag={call_id[:8]}", f"To: <{target}>", f"Call-ID: {call_id}",
                 "Max-Forwards: 70"]
        self._calls[call_id] = {"target": target, "lines": lines, "at": 0, "heard": False, "rang": False, "final": 0}
        self._repeat([call_id])
        return call_id

    def _repeat(self, calls):
        """Sends the INVITEs of which nothing was heard, and the CANCELs of calls that have not ended."""
        now = time.monotonic()
        for call_id in calls:
            call = self._calls[call_id]
            if now - call["at"] <= 0.5 or call["final"]:
                continue
            if not call["heard"]:
                call["at"] = now
                self._send("INVITE", call_id, f"Contact: <sip:caller@127.0.0.1:{self._socket.port}>")
            elif call["rang"]:
                call["at"] = now
                self._send("CANCEL", call_id)

    def finals(self, calls, seconds):
        """The final answers to these calls, in their order."""
        self._wait(calls, "final", seconds)
        return [self._calls[call]["final"] for call in calls]

    def wait_heard(self, calls, seconds):
        """Waits until each of these calls has an answer, be it 100."""
        self._wait(calls, "heard", seconds)

    def _wait(self, calls, what, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not all(self._calls[call][what] for call in calls):
            self._repeat(calls)
            with self._come:
                self._come.wait(0.1)

    def _send(self, method, call_id, *extra):
        call = self._calls[call_id]
        self._socket.send(f"{method} {call['target']} SIP/2.0", *call["lines"], f"CSeq: 1 {method}", *extra, "Content-Length: 0")

    def _on_message(self, data):
        if not data.startswith(b"SIP/2.0 "):
            return self._socket.answer(data, 200)
        status = int(data[8:11])
        call_id = field(data, "call-id")
        call = self._calls.get(call_id)
        if not call or not field(data, "cseq").endswith("INVITE"):
            return None
        call["heard"] = True
        if status == 180 and not call["rang"]:
            call["at"], call["rang"] = time.monotonic(), True
            self._send("CANCEL", call_id)
        if status >= 200:
            lines = [line for line in call["lines"] if not line.startswith("To:")]
            self._socket.send(f"ACK {call['target']} SIP/2.0", *lines, f"To: {field(data, 'to')}", "CSeq: 1 ACK",
                              "Content-Length: 0")
            with self._come:
                call["final"] = status
                self._come.notify_all()
        return None

    def close(self):
        self._socket.close()
