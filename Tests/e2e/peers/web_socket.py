# SPDX-License-Identifier: MIT
"""A browser's SIP phone as JsSIP is one: WebSocket (RFC 7118) over TLS, a Contact that leads nowhere, and Web Push."""

import base64
import os
import select
import socket
import ssl
import struct
import threading
import time
import uuid

from endpoint import new_branch, new_id
from sip import Message


class WebSocketPhone:
    """One registration over one connection. It answers INVITE with 180 and 200, everything else with 200."""

    def __init__(self, server, user, domain, push, instance=None):
        self.server, self.user, self.domain, self.push = server, user, domain, push
        self.instance = instance or f"urn:uuid:{uuid.uuid4()}"
        self.host, self.cseq, self.call_id = f"{uuid.uuid4().hex[:12]}.invalid", 0, new_id()
        self.messages, self._come = [], threading.Condition()
        self._lock = threading.Lock()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(socket.create_connection(("127.0.0.1", server.tls_port), 5))
        self._upgrade()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _upgrade(self):
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{self.server.tls_port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: sip\r\nSec-WebSocket-Version: 13\r\n"
            "Origin: https://phone.example.com\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1)
        assert b" 101 " in answer.split(b"\r\n")[0], answer

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!BBH", 0x81, 0xFE, len(data)) if len(data) > 125 else struct.pack("!BB", 0x81, 0x80 | len(data))
        with self._lock:  # a TLS connection is one machine for both directions
            self.socket.settimeout(5)
            self.socket.sendall(size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            if not self.socket.pending() and not select.select([self.socket], [], [], 1)[0]:
                continue
            with self._lock:
                self.socket.settimeout(0.05)
                try:
                    more = self.socket.recv(count - len(data))
                except TimeoutError:
                    continue
            if not more:
                raise OSError("closed")
            data += more
        return data

    def _run(self):
        try:
            while True:
                head = self._exactly(2)
                length = head[1] & 0x7F
                if length == 126:
                    length = struct.unpack("!H", self._exactly(2))[0]
                data = self._exactly(length)
                if head[0] & 0x0F not in (1, 2) or not data.strip():
                    continue
                message = Message(time.time(), False, data.decode())
                with self._come:
                    self.messages.append(message)
                    self._come.notify_all()
                if not message.status and message.method != "ACK":
                    self._answer(message)
        except (OSError, ValueError):
            pass

    def _answer(self, request):
        for status in (180, 200) if request.method == "INVITE" else (200,):
            to = request.headers("To")[0]
            self.send("\r\n".join([
                f"SIP/2.0 {status} Answer", *[f"Via: {via}" for via in request.headers("Via")],
                *[f"Record-Route: {route}" for route in request.headers("Record-Route")],
                f"From: {request.headers('From')[0]}", f"To: {to}" if ";tag=" in to else f"To: {to};tag={self.host[:8]}",
                f"Call-ID: {request.headers('Call-ID')[0]}", f"CSeq: {request.headers('CSeq')[0]}",
                f"Contact: <sip:{self.user}@{self.host};transport=ws>", "Content-Length: 0", "", ""]))

    def send_register(self, expires=600, contact=None, *extra):
        self.cseq += 1
        self.send("\r\n".join([
            f"REGISTER sip:{self.domain} SIP/2.0", f"Via: SIP/2.0/WSS {self.host};branch={new_branch()}",
            f"From: <sip:{self.user}@{self.domain}>;tag={new_id()[:8]}", f"To: <sip:{self.user}@{self.domain}>",
            f"Call-ID: {self.call_id}", f"CSeq: {self.cseq} REGISTER", "Max-Forwards: 70", "Supported: path, outbound",
            f'Contact: <sip:{self.user}@{self.host};transport=ws{self.push.named(self.push.contact)}>'
            f';+sip.instance="<{self.instance}>";reg-id=1',
            f"Expires: {expires}", *extra, "Content-Length: 0", "", ""]))
        return self.cseq

    def wait_for(self, what, predicate, seconds=5):
        end = time.monotonic() + seconds
        with self._come:
            while True:
                found = next((m for m in self.messages if predicate(m)), None)
                if found:
                    return found
                left = end - time.monotonic()
                assert left > 0, f"{what}: not within {seconds} s: {[m.first_line for m in self.messages]}"
                self._come.wait(left)

    @property
    def endpoint(self):
        """As other phones have one."""
        return self

    def close(self):
        """The tab is closed."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self._thread.join(2)
