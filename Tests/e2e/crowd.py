# SPDX-License-Identifier: MIT
"""Many users on one socket: phones that register once and sleep, and callers whose calls nobody has to wait for."""

import contextlib
import threading
import time
import uuid

from endpoint import Endpoint, new_branch, new_id
from servers import wait_until


class Crowd:
    def __init__(self, server):
        self.server = server
        self.called = {}
        """When each call was sent, by Call-ID."""
        self.ended = {}
        """Its final status."""
        self.heard = {}
        """The answer to it that came last."""
        self._requests, self._texts = {}, {}
        self._registered = set()
        self._lock = threading.Lock()
        self.endpoint = Endpoint(server, on_response=self._on_response)

    def register(self, phones, window=50):
        """Registers users with their pushes and waits for the answers: pairs, a user as often as it has phones. What is lost
        is sent again, as phones do."""
        sent = []
        for user, push in phones:
            sent.append(self.send_register(user, push))
            if len(sent) % window == 0:
                self._wait_registered(sent[-window:])
        self._wait_registered(sent[-window:])

    def send_register(self, user, push, expires=3600):
        call_id = new_id()
        contact = f"<sip:{user}@127.0.0.1:{self.endpoint.port};line={call_id[:6]}{push.named(push.contact)}>"
        self._send("REGISTER", "sip:127.0.0.1", user, user, call_id, new_branch(), "1",
                   f'Contact: {contact};+sip.instance="<urn:uuid:{uuid.uuid4()}>"', push.named(push.header), f"Expires: {expires}")
        return call_id

    def _wait_registered(self, calls):
        for seconds in (1, 2, 4, 8):
            missing = [call_id for call_id in calls if call_id not in self._registered]
            with contextlib.suppress(AssertionError):
                return wait_until("all are registered", lambda: self._registered.issuperset(missing), seconds)
            for call_id in missing:
                self.endpoint.send(self._texts[call_id])
        raise AssertionError(f"{len(missing)} of {len(calls)} are not registered\n{self.endpoint.transcript()}")

    def call(self, user, caller="alice"):
        """Sends an INVITE; returns its Call-ID."""
        call_id = new_id()
        uri, branch = f"sip:{user}@127.0.0.1:{self.server.port}", new_branch()
        with self._lock:
            self._requests[call_id] = (uri, user, caller, branch)
            self.called[call_id] = time.time()
        self._send("INVITE", uri, user, caller, call_id, branch, "1", f"Contact: <sip:{caller}@127.0.0.1:{self.endpoint.port}>")
        return call_id

    def cancel(self, call_id):
        uri, user, caller, branch = self._requests[call_id]
        self._send("CANCEL", uri, user, caller, call_id, branch, "1")

    def _send(self, method, uri, user, caller, call_id, branch, cseq, *extra):
        text = self._texts[call_id] = "\r\n".join([
            f"{method} {uri} SIP/2.0", f"Via: SIP/2.0/UDP 127.0.0.1:{self.endpoint.port};rport;branch={branch}",
            f"From: <sip:{caller}@127.0.0.1>;tag={call_id[:8]}", f"To: <sip:{user}@127.0.0.1>", f"Call-ID: {call_id}",
            f"CSeq: {cseq} {method}", "Max-Forwards: 70", *extra, "Content-Length: 0"]) + "\r\n\r\n"
        self.endpoint.send(text)

    def _on_response(self, response):
        call_id, method = response.headers("Call-ID")[0], response.headers("CSeq")[0].split()[1]
        if method == "REGISTER" and response.status == 200:
            self._registered.add(call_id)
        if method == "INVITE":
            self.heard[call_id] = response
        if method != "INVITE" or response.status < 200:
            return
        with self._lock:
            self.ended[call_id] = response.status
            uri, _, caller, branch = self._requests[call_id]
        self.endpoint.send("\r\n".join([
            f"ACK {uri} SIP/2.0", f"Via: SIP/2.0/UDP 127.0.0.1:{self.endpoint.port};rport;branch={branch}",
            f"From: <sip:{caller}@127.0.0.1>;tag={call_id[:8]}", f"To: {response.headers('To')[0]}", f"Call-ID: {call_id}",
            "CSeq: 1 ACK", "Max-Forwards: 70", "Content-Length: 0"]) + "\r\n\r\n")

    def stop(self):
        self.endpoint.close()
