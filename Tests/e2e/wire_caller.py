# SPDX-License-Identifier: MIT
"""A caller whose calls are single messages: many at once over one socket, with times."""

import re
import time

from endpoint import Endpoint, new_branch, new_id


def target_of(message):
    """The URI of its Contact."""
    return re.match(r"<([^>]*)>", message.headers("Contact")[0])[1]


class WireCaller:
    """Somebody with one socket, who may have many calls at once."""

    def __init__(self, server, transport="udp", name="alice", display=""):
        self.server, self.transport, self.name, self.display = server, transport, name, display
        self.calls = {}
        self.endpoint = Endpoint(server, transport, self._on_request, on_response=self._on_response)

    def call(self, user, *extra, **options):
        return WireCall(self, user, "INVITE", **options).send(*extra)

    def write(self, user, text="hello", **options):
        return WireCall(self, user, "MESSAGE", text=text, **options).send()

    def request(self, user, method, *extra, **options):
        """A request of any method without a body."""
        return WireCall(self, user, method, **options).send(*extra)

    def _on_response(self, response):
        call = self.calls.get(response.headers("Call-ID")[0])
        if call:
            call._on_response(response)

    def _on_request(self, request):
        lines = ["SIP/2.0 200 OK", *[f"{name}: {value}" for name in ("Via", "From", "To", "Call-ID", "CSeq")
                                     for value in request.headers(name)], "Content-Length: 0"]
        self.endpoint.send("\r\n".join(lines) + "\r\n\r\n")

    def stop(self):
        self.endpoint.close()


class WireCall:
    """One INVITE or MESSAGE, and what came back. It acknowledges by itself."""

    def __init__(self, caller, user, method, *, text="", content="text/plain", call_id=None, cseq=1, tag=None,
                 domain="127.0.0.1", uri=None):
        self.caller, self.user, self.method, self.text, self.content = caller, user, method, text, content
        self.call_id, self.cseq, self.tag = call_id or new_id(), cseq, tag or new_id()[:8]
        self.uri = uri or f"sip:{user}@{domain}:{caller.server.port}"
        self.branch = new_branch()
        self.sent_at = 0.0
        caller.calls[self.call_id] = self

    def send(self, *extra):
        self.sent_at = time.time()
        body = self.text
        more = [*extra, f"Content-Type: {self.content}"] if body else list(extra)
        self._send(self.method, self.branch, f"<{self.uri}>", *more, body=body)
        return self

    def repeat(self, *extra):
        """The same call once more in a transaction of its own, as after 401, 422 or 488."""
        return WireCall(self.caller, self.user, self.method, text=self.text, call_id=self.call_id, cseq=self.cseq + 1,
                        tag=self.tag).send(*extra)

    def cancel(self, *extra):
        """Hangs up before an answer; returns when."""
        at = time.time()
        self._send("CANCEL", self.branch, f"<{self.uri}>", *extra)
        return at

    def hang_up(self):
        answer = self.final
        target = target_of(answer)
        routes = [f"Route: {route}" for route in reversed(answer.headers("Record-Route"))]
        self.cseq += 1
        self._send("BYE", new_branch(), answer.headers("To")[0], *routes, target=target)

    def request(self, method, target=None):
        """A request within the answered call, to its Contact unless told otherwise; returns its CSeq."""
        answer = next(m for m in self.caller.endpoint.messages if m.status == 200 and m.headers("Call-ID") == [self.call_id]
                      and m.headers("CSeq")[0].endswith("INVITE"))
        target = target or target_of(answer)
        routes = [f"Route: {route}" for route in reversed(answer.headers("Record-Route"))]
        self.cseq += 1
        self.branch = new_branch()
        self._send(method, self.branch, answer.headers("To")[0], *routes, target=target)
        return f"{self.cseq} {method}"

    def wait_answer_to(self, cseq, seconds=5):
        """The final answer to the request with this CSeq."""
        return self.caller.endpoint.wait_for(
            f"answer to {cseq}", lambda m: m.status >= 200 and m.headers("Call-ID") == [self.call_id]
            and m.headers("CSeq") == [cseq], seconds)

    def _send(self, method, branch, to, *extra, body="", target=None):
        endpoint = self.caller.endpoint
        number = self.cseq
        suffix = "" if endpoint.transport == "udp" else f";transport={endpoint.transport}"
        lines = [
            f"{method} {target or self.uri} SIP/2.0",
            f"Via: SIP/2.0/{endpoint.transport.upper()} 127.0.0.1:{endpoint.port};rport;branch={branch}",
            f"From: {self.caller.display}<sip:{self.caller.name}@127.0.0.1>;tag={self.tag}",
            f"To: {to}",
            f"Call-ID: {self.call_id}",
            f"CSeq: {number} {method}",
            "Max-Forwards: 70",
            f"Contact: <sip:{self.caller.name}@127.0.0.1:{endpoint.port}{suffix}>",
            *extra,
            f"Content-Length: {len(body.encode(errors='surrogateescape'))}"]
        endpoint.send("\r\n".join(lines) + "\r\n\r\n" + body)

    def _on_response(self, response):
        if response.headers("CSeq")[0] != f"{self.cseq} INVITE" or response.status < 200:
            return
        to = response.headers("To")[0]
        if response.status >= 300:
            self._send("ACK", self.branch, to)
        else:
            routes = [f"Route: {route}" for route in reversed(response.headers("Record-Route"))]
            self._send("ACK", new_branch(), to, *routes, target=target_of(response))

    # What it heard

    def _is_answer(self, message):
        return (message.status > 0 and message.headers("Call-ID") == [self.call_id]
                and message.headers("CSeq") == [f"{self.cseq} {self.method}"])

    @property
    def answers(self):
        return [m for m in list(self.caller.endpoint.messages) if not m.sent and self._is_answer(m)]

    @property
    def statuses(self):
        return [m.status for m in self.answers]

    @property
    def final(self):
        """The final answer so far; None while there is none."""
        return next((m for m in self.answers if m.status >= 200), None)

    def wait_status(self, status, seconds=5):
        return self.caller.endpoint.wait_for(
            f"{status} for {self.user}", lambda m: self._is_answer(m) and m.status == status, seconds)

    def wait_final(self, seconds=5):
        return self.caller.endpoint.wait_for(
            f"final answer for {self.user}", lambda m: self._is_answer(m) and m.status >= 200, seconds)

    def wait_answer(self, method, seconds=5):
        """The final answer to its CANCEL or BYE."""
        return self.caller.endpoint.wait_for(
            f"answer to {method}", lambda m: m.status >= 200 and m.headers("Call-ID") == [self.call_id]
            and m.headers("CSeq")[0].endswith(method), seconds)

    def transcript(self):
        return self.caller.endpoint.transcript()
