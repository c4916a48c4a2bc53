# SPDX-License-Identifier: MIT
"""An engine's socket, spoken to without the library: many pushes at once, each with the time of its end."""

import collections
import select
import socket
import struct
import time

REGISTER, SEND, QUERY, REPLY = 1, 5, 6, 64
AOR, CALL_ID, CSEQ, GRANTED, HEADER_NAME, HEADER_VALUE, EVENT, SECONDS, FROM_URI, FROM_DISPLAY = range(1, 11)
PROVIDER, APP, TOKEN, WAITS = 20, 21, 22, 48
CALL = 0


def message(kind, number, *fields):
    """One message of Sources/PushWakeClient/Protocol/EngineProtocol.swift."""
    parts = [struct.pack("<BBI", 1, kind, number)]
    for tag, value in fields:
        data = struct.pack("<q", value) if isinstance(value, int) else value.encode()
        parts += [struct.pack("<BI", tag, len(data)), data]
    return b"".join(parts)


Push = collections.namedtuple("Push", "sent ended outcome")
"""One push: when it was asked for and when it ended, monotonic seconds, and how."""


class EngineClient:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        self._waiting = {}
        self._number = 0

    def send(self, provider, app, token, *, event=CALL, seconds=30):
        """Asks for a push to a token; `take` has its end."""
        self._number += 1
        self._waiting[self._number] = time.monotonic()
        self.socket.send(message(
            SEND, self._number, (EVENT, event), (PROVIDER, provider), (APP, app), (TOKEN, token), (SECONDS, seconds),
            (CALL_ID, f"{token[-40:]}-{self._number}"), (FROM_URI, "sip:alice@example.com"), (WAITS, 1)))

    @property
    def waiting(self):
        """Pushes that have not ended."""
        return len(self._waiting)

    def take(self, seconds=0.0):
        """The pushes that end within so many seconds; without any to wait for at once."""
        ended, until = [], time.monotonic() + seconds
        while self._waiting:
            ready, _, _ = select.select([self.socket], [], [], max(0, until - time.monotonic()))
            if not ready:
                break
            reply = self.socket.recv(1 << 18)
            number = struct.unpack_from("<I", reply, 2)[0]
            words = ["accepted", "token-gone", "rejected", "throttled", "unavailable", "misconfigured", "expired", "overloaded"]
            outcome = next((word for word in words if word.encode() in reply), "refused")
            ended.append(Push(self._waiting.pop(number), time.monotonic(), outcome))
        return ended

    def play(self, count, rate, one):
        """Asks for so many pushes a second, each by `one(number)`; what has ended by the time of the last."""
        ended, due = [], time.monotonic()
        for number in range(count):
            due += 1 / rate
            while (left := due - time.monotonic()) > 0:
                ended += self.take(min(left, 0.005))
            one(number)
        return ended

    def close(self):
        self.socket.close()
