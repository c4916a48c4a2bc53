# SPDX-License-Identifier: MIT
"""A SIP phone whose every answer, connection and silence a test chooses."""

import threading
import time
import uuid

from endpoint import Endpoint, new_branch, new_id
from phones import no_push

PAUSE = 0.02
"""Seconds between two answers of one request: two workers of the server must not change their order."""


class WirePhone:
    """One registration over one socket. `again()` is the same device over another one.

    What it answers stands in `answers`: by method, the statuses sent as soon as a request comes. A CANCEL also ends
    the INVITE, with 487, unless `ignores_cancel`. A copy of a request gets the last answer again."""

    def __init__(self, server, user, transport="udp", push=None, *, instance=None, call_id=None, contact=None, port=0,
                 domain="127.0.0.1"):
        self.server, self.user, self.transport, self.push = server, user, transport, push or no_push()
        self.instance = f"urn:uuid:{uuid.uuid4()}" if instance is None else instance
        self.call_id, self.cseq, self.domain = call_id or new_id(), 0, domain
        self.answers = {"INVITE": (180, 200), "MESSAGE": (200,), "BYE": (200,), "OPTIONS": (200,)}
        self.ignores_cancel = False
        self.tag = new_id()[:8]
        self._answered = {}
        self._lock = threading.Lock()
        self.endpoint = Endpoint(server, transport, self._on_request, port)
        suffix = "" if transport == "udp" else f";transport={transport}"
        self.uri = contact or f"sip:{user}@127.0.0.1:{self.endpoint.port}{suffix}"

    def again(self, transport=None, **options):
        """The same device over a new socket; a new Call-ID unless told otherwise, as after a restart of the app."""
        return WirePhone(self.server, self.user, transport or self.transport, self.push, instance=self.instance,
                         domain=self.domain, **options)

    # Registration

    # Further parameters of its Contact.
    parameters = ""

    @property
    def contact(self):
        instance = f';+sip.instance="<{self.instance}>"' if self.instance else ""
        return f"<{self.uri}{self.push.named(self.push.contact)}>{instance}{self.parameters}"

    @property
    def contact_in_calls(self):
        return f"<{self.uri}>"

    def send_register(self, expires=600, contact=None, *extra):
        self.cseq += 1
        lines = [
            f"REGISTER sip:{self.domain} SIP/2.0",
            f"Via: SIP/2.0/{self.transport.upper()} 127.0.0.1:{self.endpoint.port};rport;branch={new_branch()}",
            f"From: <sip:{self.user}@{self.domain}>;tag={new_id()[:8]}",
            f"To: <sip:{self.user}@{self.domain}>",
            f"Call-ID: {self.call_id}",
            f"CSeq: {self.cseq} REGISTER",
            f"Contact: {contact or self.contact}",
            self.push.named(self.push.header),
            *([] if expires is None else [f"Expires: {expires}"]),
            "Max-Forwards: 70",
            *extra,
            "Content-Length: 0"]
        self.endpoint.send("\r\n".join(lines) + "\r\n\r\n")
        return self.cseq

    def register(self, expires=600, contact=None, *extra):
        """Registers and waits for the 200."""
        number = self.send_register(expires, contact, *extra)
        answer = self.endpoint.wait_for(
            f"answer to REGISTER {number}",
            lambda m: m.status >= 200 and m.headers("CSeq") == [f"{number} REGISTER"])
        assert answer.status == 200, answer.text
        return answer

    def unregister(self):
        return self.register(0)

    # Requests from the server

    def _on_request(self, request):
        method = request.method
        key = (request.headers("Via")[0], request.headers("CSeq")[0])
        with self._lock:
            last = self._answered.get(key)
        if last:
            self.endpoint.send(last)
            return
        if method == "CANCEL":
            self._cancelled(request)
        for number, status in enumerate(self.answers.get(method, ())):
            if number > 0:
                time.sleep(PAUSE)
            self.answer(request, status)

    def _cancelled(self, cancel):
        self.answer(cancel, 200)
        invite = next((m for m in self.requests("INVITE") if m.headers("Via")[0] == cancel.headers("Via")[0]), None)
        if invite and not self.ignores_cancel and not self.has_answered(invite):
            self.answer(invite, 487)

    def has_answered(self, request):
        """Whether it sent a final answer to it."""
        last = self._answered.get((request.headers("Via")[0], request.headers("CSeq")[0]), "")
        return bool(last) and int(last.split(" ")[1]) >= 200

    def answer(self, request, status, *extra):
        """Sends an answer; 486 is Busy Here and so on, but nobody reads the words."""
        to = request.headers("To")[0]
        lines = [
            f"SIP/2.0 {status} Answer",
            *[f"Via: {via}" for via in request.headers("Via")],
            *[f"Record-Route: {route}" for route in request.headers("Record-Route")],
            f"From: {request.headers('From')[0]}",
            f"To: {to}" if status == 100 or ";tag=" in to else f"To: {to};tag={self.tag}",
            f"Call-ID: {request.headers('Call-ID')[0]}",
            f"CSeq: {request.headers('CSeq')[0]}",
            f"Contact: {self.contact_in_calls}",
            *extra,
            "Content-Length: 0"]
        text = "\r\n".join(lines) + "\r\n\r\n"
        with self._lock:
            self._answered[(request.headers("Via")[0], request.headers("CSeq")[0])] = text
        self.endpoint.send(text)

    def received(self, method):
        """Every datagram, or message of a stream, with this method."""
        return [m for m in list(self.endpoint.messages) if not m.sent and m.method == method]

    def requests(self, method):
        """Requests with this method; copies count once."""
        seen, found = set(), []
        for message in self.received(method):
            via = message.headers("Via")[0]
            if via not in seen:
                seen.add(via)
                found.append(message)
        return found

    def wait_request(self, method, seconds=5, count=1):
        """The first request with this method, or the one that is the so many-th."""
        return self.endpoint.wait_for(method, lambda m: m.method == method, seconds, count)

    # Its life

    def suspend(self):
        self.endpoint.suspend()

    def resume(self):
        self.endpoint.resume()

    def sleep(self):
        """The app goes, its socket with it, and the server knows: what is sent now is not sent into a dead connection."""
        self.endpoint.close()
        if self.transport != "udp":
            self.server.wait_disconnected(self.endpoint.port)
        return self

    def stop(self):
        self.endpoint.close()
