# SPDX-License-Identifier: MIT
"""Browsers: their phones come over a WebSocket (RFC 7118), with a Contact that leads nowhere but to their connection."""

import base64
import os
import struct

from sip_phone import Phone
from sleeper import Sleeper, fcm

TEXT = 0x81
MASKED = 0x80


class Frames:
    """The client's end of a WebSocket (RFC 6455), with the functions of a socket that a Phone uses."""

    def __init__(self, stream):
        self.stream, self.buffer = stream, b""
        key = base64.b64encode(os.urandom(16)).decode()
        stream.sendall((
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Protocol: sip\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())  # fmt: skip
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += stream.recv(1)
        assert b" 101 " in answer, answer

    def send(self, data):
        mask = os.urandom(4)
        size = struct.pack("!BBH", TEXT, MASKED | 126, len(data))
        self.stream.sendall(size + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))

    def recv(self, size):
        """All that is there, and at least one frame; nothing when the connection has ended."""
        texts = self._take()
        while not texts:
            data = self.stream.recv(size)
            if not data:
                return b""
            self.buffer += data
            texts = self._take()
        return texts

    def _take(self):
        texts = b""
        while len(self.buffer) >= 4:
            length, start = self.buffer[1], 2
            if length == 126:
                length, start = struct.unpack("!H", self.buffer[2:4])[0], 4
            if len(self.buffer) < start + length:
                break
            if self.buffer[0] == TEXT:
                texts += self.buffer[start : start + length]
            self.buffer = self.buffer[start + length :]
        return texts

    def fileno(self):
        return self.stream.fileno()

    def close(self):
        self.stream.close()


class Browser(Phone):
    def __init__(self, user, http_port):
        super().__init__(user, ("127.0.0.1", http_port), "ws")
        self.socket = Frames(self.socket)

    @property
    def contact(self):
        return f"sip:{self.user}@{self.tag}.invalid;transport=ws"


class BrowserSleeper(Sleeper):
    """Asleep: its connection is closed, and Asterisk knows."""

    def __init__(self, make, *arguments):
        self.make = make
        super().__init__(None, *arguments, parameters=fcm)

    def _phone(self):
        return self.make(self.user)

    def fall_asleep(self, phone):
        phone.close()
        self.asterisk.wait_log(f":{phone.port};transport=ws;x-ast-orig-host={phone.tag}.invalid:0' from AOR")
