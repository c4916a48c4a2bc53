# SPDX-License-Identifier: MIT
"""Contacts that another node replicates (DMQ) while the engine is away. The test plays that node."""

import json
import re
import uuid

import pytest

from phones import rfc8599_fcm
from servers import NODES, stopped, wait_until
from test_location import printed

ROOM = 20000
"""Contacts that wait for the engine."""


@pytest.fixture
def node(make_kamailio):
    made = make_kamailio(settings={"engine_timeout": 100})
    lines, first = printed("dmq_usrloc")
    lines = lines.replace("10.0.0.1:5060", f"127.0.0.1:{made.port}").replace("10.0.0.2:5060", "127.0.0.2:9")
    first = first.replace("10.0.0.1", "127.0.0.1")
    made.template = NODES.read_text().replace("request_route {\n", f"{lines}\nrequest_route {{\n{first}\n", 1)
    made.set_up()
    return made.start().wait_engine()


class Other:
    """The node with server_id 2."""

    def __init__(self, node, caller):
        self.node, self.endpoint = node, caller.endpoint
        self.cseq = 0

    def replicate(self, users, seconds=3600):
        """Their phones have registered, or refreshed: 40 contacts in each message."""
        self.cseq += 1
        self._replicate([self._contact(user, push) for user, push in users.items()])

    def replicate_addresses(self, user, push, *addresses):
        """Its phone, which has no instance, has registered all of them with one REGISTER."""
        self.cseq += 1
        self._replicate([
            self._contact(user, push) | {"ruid": f"uloc-2-{user}-{host}", "c": f"sip:{user}@{host}:9;{push}", "instance": ""}
            for host in addresses])

    def _replicate(self, contacts):
        for at in range(0, len(contacts), 40):
            self._send({"multi": {str(n): contact for n, contact in enumerate(contacts[at:at + 40])}})

    def _contact(self, user, push):
        return {
            "action": 1, "aor": user, "ruid": f"uloc-2-{user}", "c": f"sip:{user}@127.0.0.2:9;{push}", "received": "", "path": "",
            "callid": f"call-{user}", "user_agent": "phone", "instance": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, user)}>",
            "expires": 4000000000, "cseq": self.cseq, "flags": 0, "cflags": 0, "q": -1, "last_modified": 1700000000, "methods": 16383,
            "reg_id": 0, "server_id": 2}

    def _send(self, content):
        body, number = json.dumps(content), uuid.uuid4().hex
        self.endpoint.send("\r\n".join([
            f"KDMQ sip:usrloc@127.0.0.1:{self.node.port} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{self.endpoint.port};rport;branch=z9hG4bK{number}",
            f"From: <sip:usrloc@127.0.0.1:{self.endpoint.port}>;tag={number}", f"To: <sip:usrloc@127.0.0.1:{self.node.port}>",
            f"Call-ID: {number}", "CSeq: 10 KDMQ", "Max-Forwards: 1", "Content-Type: application/json",
            f"Content-Length: {len(body)}", "", body]))
        answer = self.endpoint.wait_for("DMQ's answer", lambda m: m.headers("Call-ID") == [number])
        assert answer.status == 200
        self.endpoint.messages.clear()


def free_memory(node):
    return int(re.search(r"free: (-?\d+)", node.rpc("core.shmmem")).group(1))


def push_of(number=0):
    push = rfc8599_fcm()
    return f"pn-provider=fcm;pn-param=project;pn-prid={push.token}{number}"


def is_bound(node, user):
    return user in (node.rpc("pushwake.list", user) or "")


def test_all_addresses_of_a_token_are_kept(node, wire):
    other, push = Other(node, wire.caller(node)), push_of()
    for registers in (2, 4, 6):
        other.replicate_addresses("several", push, "127.0.0.2", "127.0.0.3")
        wait_until("the engine has heard of both", lambda: node.counter("registers") == registers)
        assert node.rpc("ul.lookup", "location", "several").count("Address:") == 2


def test_what_is_refreshed_while_the_engine_is_away_waits_once(node, wire):
    other = Other(node, wire.caller(node))
    users = {f"again{number}": push_of(number) for number in range(200)}
    with stopped(node.engine_pid()):
        other.replicate(users)
        before = free_memory(node)
        for _ in range(50):
            other.replicate(users)
        assert before - free_memory(node) < 100_000
    wait_until("all are known", lambda: all(is_bound(node, user) for user in ("again0", "again199")))


def test_what_does_not_fit_is_found_when_the_engine_is_back(node, wire):
    other = Other(node, wire.caller(node))
    users = {f"many{number}": push_of(number) for number in range(ROOM + 1000)}
    last = f"many{ROOM + 999}"
    with stopped(node.engine_pid()):
        other.replicate(users)
        node.wait_log("looked for in usrloc later")
    wait_until("the last is known", lambda: is_bound(node, last), 120, 0.5)
    node.wait_log("usrloc was searched", f"{ROOM + 1000} contacts", seconds=60)
    wait_until("all are known", lambda: node.counter("bindings") == ROOM + 1000, 30, 0.2)
    assert node.log_text().count("looked for in usrloc later") == 1
