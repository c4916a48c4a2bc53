# SPDX-License-Identifier: MIT
"""One socket to the server, over UDP, TCP or TLS: every message that passed, with its time."""

import contextlib
import re
import select
import socket
import ssl
import struct
import threading
import time
import uuid

from ports import free_port
from sip import Message

_LENGTH = re.compile(rb"^(?:content-length|l)\s*:\s*(\d+)", re.I | re.M)


class Endpoint:
    """Reads in a thread of its own, unless it is told to stop reading as a suspended app does."""

    def __init__(self, server, transport="udp", on_request=None, port=0, on_response=None):
        self.transport = transport
        self.messages = []
        self.on_request = on_request
        self.on_response = on_response
        self._lock = threading.RLock()
        self._come = threading.Condition()
        self._reads = threading.Event()
        self._reads.set()
        self._is_open = True
        self._rest = b""
        self._socket = self._connect(server, port)
        self.port = self._socket.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _connect(self, server, port):
        kind = socket.SOCK_DGRAM if self.transport == "udp" else socket.SOCK_STREAM
        raw = socket.socket(socket.AF_INET, kind)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        raw.bind(("127.0.0.1", port or free_port()))
        if kind == socket.SOCK_STREAM:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.transport != "tls":
            raw.connect((getattr(server, "host", "127.0.0.1"), server.port))
            raw.setblocking(False)
            return raw
        raw.connect(("127.0.0.1", server.tls_port))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        secured = context.wrap_socket(raw)
        secured.setblocking(False)
        return secured

    # What goes out

    def send(self, text):
        data = text.encode(errors="surrogateescape")
        self.messages.append(Message(time.time(), True, text))
        with self._lock:
            while data:
                try:
                    data = data[self._socket.send(data):]
                except (BlockingIOError, ssl.SSLWantWriteError):
                    select.select([], [self._socket], [], 1)

    # What comes in

    def _run(self):
        while self._is_open:
            self._reads.wait()
            with contextlib.suppress(OSError, ValueError):
                ready, _, _ = select.select([self._socket, self._woken], [], [])
                if self._woken in ready:
                    self._woken.recv(64)
                if self._socket in ready:
                    self._read()

    def _read(self):
        while self._is_open:
            try:
                with self._lock:
                    if not self._reads.is_set():
                        return
                    data = self._socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except (OSError, ssl.SSLError):
                data = b""
            if not data and self.transport != "udp":
                self._is_open = False
            for text in self._split(data):
                self._take(text)

    def _split(self, data):
        if self.transport == "udp":
            return [data] if data.strip() else []
        self._rest += data
        found = []
        while True:
            self._rest = self._rest.lstrip(b"\r\n")
            head, mark, body = self._rest.partition(b"\r\n\r\n")
            if not mark:
                return found
            length = _LENGTH.search(head)
            size = int(length.group(1)) if length else 0
            if len(body) < size:
                return found
            found.append(head + mark + body[:size])
            self._rest = body[size:]

    def _take(self, data):
        message = Message(time.time(), False, data.decode(errors="replace"))
        with self._come:
            self.messages.append(message)
            self._come.notify_all()
        handler = self.on_response if message.status else self.on_request
        if handler:
            handler(message)

    def wait_for(self, what, predicate, seconds=5, count=1):
        """The last of the first so many messages from the server that fit."""
        end = time.monotonic() + seconds
        with self._come:
            while True:
                found = [m for m in self.messages if not m.sent and predicate(m)]
                if len(found) >= count:
                    return found[count - 1]
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"{what}: not within {seconds} s\n{self.transcript()}")
                self._come.wait(left)

    # Its life

    def suspend(self):
        """Stops reading; the socket stays open and takes what fits into its buffers."""
        with self._lock:
            self._reads.clear()
        self._wake.send(b".")

    def wait_data(self, seconds=5):
        """While it is suspended: when something lies in its socket."""
        ready, _, _ = select.select([self._socket], [], [], seconds)
        assert ready, f"nothing came to the suspended socket within {seconds} s"
        return time.time()

    def resume(self):
        self._reads.set()

    @property
    def is_open(self):
        return self._is_open

    def close(self):
        """Ends the connection in good order."""
        if self._is_open:
            self._is_open = False
            self._reads.set()
            with contextlib.suppress(OSError):
                self._wake.send(b".")
            self._thread.join(2)
            self._wake.close()
            self._woken.close()
        with contextlib.suppress(OSError):
            self._socket.close()

    def reset(self):
        """Ends it with a TCP RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def transcript(self):
        lines = [f"  {m.at % 1000:7.3f} {'>' if m.sent else '<'} {m.first_line}" for m in list(self.messages)[-60:]]
        return "\n".join([f"--- {self.transport} {self.port}", *lines])


def new_id():
    return uuid.uuid4().hex


def new_branch():
    return "z9hG4bK" + uuid.uuid4().hex
