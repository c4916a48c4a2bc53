# SPDX-License-Identifier: MIT
"""A SIP phone of one socket, for tests that need to look at each message.

It does what a test tells it and nothing by itself: no retransmission, no timers.
"""

import hashlib
import random
import re
import select
import socket
import time

from ports import free_port

SDP = (
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"
)


def token(length=10):
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length))


class Message:
    """A SIP request or response; header names are case-insensitive."""

    def __init__(self, raw: str):
        head, _, self.body = raw.partition("\r\n\r\n")
        self.raw = raw
        self.start, *lines = head.split("\r\n")
        self.headers = []
        for line in lines:
            name, _, value = line.partition(":")
            self.headers.append((name.strip(), value.strip()))
        self.at = time.monotonic()

    def __repr__(self):
        return self.start

    @property
    def is_request(self):
        return not self.start.startswith("SIP/2.0")

    @property
    def method(self):
        return self.start.split()[0] if self.is_request else self["CSeq"].split()[1]

    @property
    def status(self):
        return 0 if self.is_request else int(self.start.split()[1])

    @property
    def uri(self):
        return self.start.split()[1]

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def __getitem__(self, name):
        values = self.all(name)
        return values[0] if values else ""


class Phone:
    # Where a call of its own wants to be sent media; else where nobody listens.
    media_port = None
    # What its offers have beside audio, as lines of SDP.
    more_media = ""
    # Its own address, as URIs have it.
    host = "127.0.0.1"
    # In the From of what it sends.
    name = "The Caller"
    # Of what it sends.
    encoding = "utf-8"
    # How its Contact ends within calls, and further headers there.
    contact_end = ">"
    call_headers = ()

    def __init__(self, user, server, transport="udp", password=None, port=0):
        self.flow = ""  # ;reg-id=1
        self.user, self.server, self.transport = user, server, transport
        self.password = password or user + "-secret"
        kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
        self.socket = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET, kind)
        self.socket.bind((self.host.strip("[]"), port or free_port()))
        self.socket.connect((server[0].strip("[]"), server[1]))
        if kind == socket.SOCK_STREAM:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = self.socket.getsockname()[1]
        self.buffer = b""
        self.queue = []
        self.instance = "<urn:uuid:" + token(8) + "-0000-4000-8000-000000000000>"
        self.register_id = token(16) + "@127.0.0.1"
        self.register_cseq = 0
        self.tag = token()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the wire

    def send(self, start, headers, body=""):
        lines = [start] + [f"{n}: {v}" for n, v in headers]
        if body and "Content-Type" not in dict(headers):
            lines.append("Content-Type: application/sdp" if body.startswith("v=0") else "Content-Type: text/plain")
        lines.append(f"Content-Length: {len(body.encode(self.encoding))}")
        self.socket.send(("\r\n".join(lines) + "\r\n\r\n" + body).encode(self.encoding))

    def _read(self, timeout):
        if self.queue:
            return self.queue.pop(0)
        deadline = time.monotonic() + timeout
        while True:
            message = self._take()
            if message:
                return message
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            data = self.socket.recv(65536)
            if not data:
                return None
            self.buffer = data if self.transport == "udp" else self.buffer + data

    def _take(self):
        head, mark, rest = self.buffer.lstrip(b"\r\n").partition(b"\r\n\r\n")
        if not mark:
            return None
        match = re.search(rb"\r\nContent-Length:\s*(\d+)", head, re.I)
        length = int(match.group(1)) if match else 0
        if len(rest) < length:
            return None
        self.buffer = b"" if self.transport == "udp" else rest[length:]
        return Message((head + mark + rest[:length]).decode("utf-8", "replace"))

    def expect(self, what, timeout=5.0):
        """The next message that `what(message)` accepts; others are put aside or answered."""
        deadline = time.monotonic() + timeout
        aside = []
        try:
            while True:
                message = self._read(deadline - time.monotonic())
                if message is None:
                    raise AssertionError(f"{self.user}:{self.port} got nothing fitting within {timeout} s; saw {aside}")
                if what(message):
                    return message
                if message.is_request and message.method in ("OPTIONS", "NOTIFY"):
                    self.reply(message, 200, "OK")
                    continue
                aside.append(message)
        finally:
            self.queue = aside + self.queue

    def expect_request(self, method, timeout=5.0):
        return self.expect(lambda m: m.is_request and m.method == method, timeout)

    def expect_response(self, call_id, method, timeout=5.0, least=200):
        return self.expect(
            lambda m: not m.is_request and m["Call-ID"] == call_id and m.method == method and m.status >= least, timeout
        )

    def gets_nothing(self, method, seconds):
        """Whether no such request comes."""
        try:
            self.expect_request(method, seconds)
        except AssertionError:
            return True
        return False

    # ---- REGISTER

    @property
    def contact(self):
        suffix = "" if self.transport == "udp" else f";transport={self.transport}"
        return f"sip:{self.user}@{self.host}:{self.port}{suffix}"

    def register(self, parameters="", headers=(), expires=300, contact=None, timeout=5.0):
        """Registers, answering a challenge once; `parameters` go into the Contact URI."""
        value = f"<{contact or self.contact}{parameters}>;+sip.instance=\"{self.instance}\"{self.flow}"
        response = self._register([("Contact", value), ("Expires", expires), *headers], timeout)
        if response.status == 401:
            answer = self._digest(response["WWW-Authenticate"], "REGISTER", f"sip:{self.server[0]}")
            response = self._register(
                [("Contact", value), ("Expires", expires), *headers, ("Authorization", answer)], timeout
            )
        return response

    def start_register(self, parameters=""):
        """As `register`, and does not wait for the 200."""
        value = f"<{self.contact}{parameters}>;+sip.instance=\"{self.instance}\"{self.flow}"
        headers = [("Contact", value), ("Expires", 300)]
        challenge = self._register(headers, 5.0)["WWW-Authenticate"]
        answer = self._digest(challenge, "REGISTER", f"sip:{self.server[0]}")
        self._send_register([*headers, ("Authorization", answer)])

    def _register(self, headers, timeout):
        self._send_register(headers)
        cseq = f"{self.register_cseq} REGISTER"
        return self.expect(lambda m: not m.is_request and m["CSeq"] == cseq and m.status >= 200, timeout)

    def _send_register(self, headers):
        self.register_cseq += 1
        self.send(
            f"REGISTER sip:{self.server[0]} SIP/2.0",
            [
                ("Via", self._via()),
                ("Max-Forwards", 70),
                ("From", f"<sip:{self.user}@{self.server[0]}>;tag={self.tag}"),
                ("To", f"<sip:{self.user}@{self.server[0]}>"),
                ("Call-ID", self.register_id),
                ("CSeq", f"{self.register_cseq} REGISTER"),
                *headers,
            ],
        )

    def _via(self):
        return f"SIP/2.0/{self.transport.upper()} {self.host}:{self.port};branch=z9hG4bK{token()};rport"

    def _digest(self, challenge, method, uri):
        fields = dict(re.findall(r'(\w+)="?([^",]+)"?', challenge))

        def md5(text):
            return hashlib.md5(text.encode()).hexdigest()

        first = md5(f"{self.user}:{fields['realm']}:{self.password}")
        second = md5(f"{method}:{uri}")
        if "qop" in fields:
            cnonce = token()
            response = md5(f"{first}:{fields['nonce']}:00000001:{cnonce}:auth:{second}")
            extra = f', qop=auth, nc=00000001, cnonce="{cnonce}"'
        else:
            response, extra = md5(f"{first}:{fields['nonce']}:{second}"), ""
        opaque = f', opaque="{fields["opaque"]}"' if "opaque" in fields else ""
        return (
            f'Digest username="{self.user}", realm="{fields["realm"]}", nonce="{fields["nonce"]}", '
            f'uri="{uri}", algorithm=MD5, response="{response}"{opaque}{extra}'
        )

    # ---- as the one who is called

    def reply(self, request, status, reason, body="", contact=None):
        to = request["To"]
        if "tag=" not in to:
            to += f";tag={self.tag}"
        headers = [("Via", v) for v in request.all("Via")]
        headers += [("Record-Route", v) for v in request.all("Record-Route")]
        headers += [("From", request["From"]), ("To", to), ("Call-ID", request["Call-ID"]), ("CSeq", request["CSeq"])]
        headers += [("Contact", f"<{contact or self.contact}{self.contact_end}"), *self.call_headers]
        self.send(f"SIP/2.0 {status} {reason}", headers, body)

    def ring(self, invite):
        self.reply(invite, 100, "Trying")
        self.reply(invite, 180, "Ringing")

    def forward(self, invite, user):
        """302 to another user of its server."""
        self.reply(invite, 302, "Moved Temporarily", contact=f"sip:{user}@{self.server[0]}")
        self.expect_request("ACK")

    def answer(self, invite, timeout=5.0):
        """200 and its ACK."""
        self.reply(invite, 200, "OK", SDP.format(port=free_port()))
        return self.expect_request("ACK", timeout)

    def end(self, invite):
        """BYE from the one who was called."""
        cseq = random.randint(1000, 9999)
        target = re.search(r"<([^>]+)>", invite["Contact"]).group(1)
        self.send(
            f"BYE {target} SIP/2.0",
            [
                ("Via", self._via()),
                ("Max-Forwards", 70),
                ("From", invite["To"] + f";tag={self.tag}"),
                ("To", invite["From"]),
                ("Call-ID", invite["Call-ID"]),
                ("CSeq", f"{cseq} BYE"),
                *self.call_headers,
                *[("Route", v) for v in invite.all("Record-Route")],
            ],
        )
        return self.expect_response(invite["Call-ID"], "BYE")

    def refer(self, invite, number, replaces=""):
        """Transfer of the call that it has answered: blind, or into the place of a call of its own (RFC 3891)."""
        target = re.search(r"<([^>]+)>", invite["Contact"]).group(1)
        self.send(
            f"REFER {target} SIP/2.0",
            [
                ("Via", self._via()),
                ("Max-Forwards", 70),
                ("From", invite["To"] + f";tag={self.tag}"),
                ("To", invite["From"]),
                ("Call-ID", invite["Call-ID"]),
                ("CSeq", f"{random.randint(1000, 9999)} REFER"),
                ("Contact", f"<{self.contact}>"),
                ("Refer-To", f"<sip:{number}@{self.server[0]}:{self.server[1]}{'?Replaces=' if replaces else ''}{replaces}>"),
            ],
        )
        return self.expect_response(invite["Call-ID"], "REFER")

    # ---- as the caller

    def offer(self):
        return SDP.format(port=self.media_port or free_port()) + self.more_media

    def call(self, number, headers=(), authenticate=False):
        call = Call(self, number, headers)
        if authenticate:
            call.authenticate()
        return call

    def message(self, number, text):
        return self.expect_response(self.begin_message(number, text), "MESSAGE")

    def begin_message(self, target, text, headers=()):
        """Sends a MESSAGE to a number or a whole URI; its Call-ID."""
        number = re.sub("^sip:|@.*", "", target)
        call_id = token(16)
        self.last_message = (
            f"MESSAGE {target if target.startswith('sip:') else f'sip:{number}@{self.server[0]}:{self.server[1]}'} SIP/2.0",
            [
                ("Via", self._via()),
                ("Max-Forwards", 70),
                ("From", f'"{self.name}" <sip:{self.user}@{self.server[0]}>;tag={token()}'),
                ("To", f"<sip:{number}@{self.server[0]}>"),
                ("Call-ID", call_id),
                ("CSeq", "1 MESSAGE"),
                *headers,
            ],
            text,
        )
        self.repeat()
        return call_id

    def repeat(self):
        """The last MESSAGE once more, as when no answer came."""
        self.send(*self.last_message)


class Call:
    """An INVITE that this phone sent."""

    def __init__(self, phone, number, headers=()):
        self.phone, self.number = phone, number
        self.call_id = token(16) + "@caller"
        self.from_tag = token()
        self.branch = "z9hG4bK" + token()
        self.to = f"<sip:{number}@{phone.server[0]}>"
        self.target = f"sip:{number}@{phone.server[0]}:{phone.server[1]}"
        self.cseq = 1
        self.headers = list(headers)
        self.routes = []
        self.started = time.monotonic()
        self._send("INVITE", self.target, self.cseq, self.branch, headers, phone.offer())

    def authenticate(self):
        """Answers the challenge to the INVITE."""
        challenge = self.expect(401)["WWW-Authenticate"]
        answer = self.phone._digest(challenge, "INVITE", self.target)
        self.cseq += 1
        self.branch = "z9hG4bK" + token()
        self.to = f"<sip:{self.number}@{self.phone.server[0]}>"
        headers = [*self.headers, ("Authorization", answer)]
        self._send("INVITE", self.target, self.cseq, self.branch, headers, self.phone.offer())

    def _send(self, method, uri, cseq, branch, headers=(), body=""):
        phone = self.phone
        phone.send(
            f"{method} {uri} SIP/2.0",
            [
                ("Via", f"SIP/2.0/{phone.transport.upper()} {phone.host}:{phone.port};branch={branch};rport"),
                ("Max-Forwards", 70),
                ("From", f'"{phone.name}" <sip:{phone.user}@{phone.server[0]}>;tag={self.from_tag}'),
                ("To", self.to),
                ("Call-ID", self.call_id),
                ("CSeq", f"{cseq} {method}"),
                ("Contact", f"<{phone.contact}{phone.contact_end}"),
                *phone.call_headers,
                *headers,
            ],
            body,
        )

    def expect(self, status, timeout=5.0):
        """The next response (the next final one, for 200 and above) must have this status."""
        response = self.phone.expect_response(self.call_id, "INVITE", timeout, least=min(status, 200))
        assert response.status == status, response.start
        if status >= 300:
            self._send("ACK", self.target, self.cseq, self.branch)
        elif status >= 200:
            self.to = response["To"]
            contact = re.search(r"<([^>]+)>", response["Contact"])
            self.target = contact.group(1) if contact else self.target
            self.routes = [("Route", v) for v in reversed(response.all("Record-Route"))]
            self._send("ACK", self.target, self.cseq, "z9hG4bK" + token(), self.routes)
        if status >= 200:
            self.to = response["To"]
        return response

    def final(self, timeout=5.0):
        """The final response, whatever it is."""
        response = self.phone.expect_response(self.call_id, "INVITE", timeout)
        if response.status >= 300:
            self.to = response["To"]
            self._send("ACK", self.target, self.cseq, self.branch)
        return response

    def cancel(self, headers=()):
        self._send("CANCEL", self.target, self.cseq, self.branch, headers)
        self.phone.expect_response(self.call_id, "CANCEL")
        self.expect_final(487)

    def expect_final(self, status, timeout=5.0):
        response = self.final(timeout)
        assert response.status == status, response.start
        return response

    def end(self):
        self._send("BYE", self.target, self.cseq + 1, "z9hG4bK" + token(), self.routes)
        return self.phone.expect_response(self.call_id, "BYE")
