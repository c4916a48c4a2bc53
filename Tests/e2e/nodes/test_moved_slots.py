# SPDX-License-Identifier: MIT
"""A cluster in the moment of a failover: a master sends commands on to another, which the map that is told does not name
yet, and which takes its time. Real servers agree too soon for that."""

import socketserver
import threading
import time

import pytest

from phones import rfc8599_fcm
from test_nodes import is_promised

PAUSE = 0.3


class FakeMaster(socketserver.ThreadingTCPServer):
    """Speaks as much of RESP as a store needs; `slots` is who has all of them, `moved_to` who has those of users."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, pause=0):
        super().__init__(("127.0.0.1", 0), FakeConversation)
        self.port, self.pause, self.images = self.server_address[1], pause, {}
        self.slots, self.moved_to = self.port, None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A node that ends breaks its connections."""

    def answer(self, command, key, *rest):
        if self.moved_to and key.endswith(b"}"):
            return b"-MOVED 1 127.0.0.1:%d\r\n" % self.moved_to
        if command == b"CLUSTER":
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % self.slots
        if command == b"SCRIPT":
            return b"$40\r\n%s\r\n" % (b"a" * 40)
        if command in (b"EVAL", b"EVALSHA"):
            self.images[key] = rest[-1]
            return b"*2\r\n:1\r\n*0\r\n"
        if command == b"GET":
            image = self.images.get(key)
            return b"$-1\r\n" if image is None else b"$%d\r\n%s\r\n" % (len(image), image)
        if command == b"SSUBSCRIBE":
            return b"*3\r\n$10\r\nssubscribe\r\n$%d\r\n%s\r\n:1\r\n" % (len(key), key)
        return b"+PONG\r\n" if command == b"PING" else b"+OK\r\n"


class FakeConversation(socketserver.StreamRequestHandler):
    def handle(self):
        time.sleep(self.server.pause)
        while line := self.rfile.readline():
            words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
            # The script's own first arguments are how many keys it has, and them.
            key = (words + [b""] * 3)[3 if words[0] in (b"EVAL", b"EVALSHA") else 1]
            self.wfile.write(self.server.answer(words[0], key, *words[2:]))


@pytest.fixture
def masters():
    both = [FakeMaster(), FakeMaster(PAUSE)]
    yield both
    for master in both:
        master.shutdown()
        master.server_close()


def test_a_register_is_promised_when_its_slot_has_moved_and_others_have_not_heard(make_node, masters, wire):
    old, new = masters
    old.url = f"redis+cluster://127.0.0.1:{old.port}"
    node = make_node(old, engine_timeout=4000)
    old.moved_to = new.port
    phone = wire.phone(node, "alice", "tcp", rfc8599_fcm())
    assert is_promised(phone.register())
    stored = [[key for key in master.images if b"{:alice}" in key] for master in (old, new)]
    assert stored[0] == [] and stored[1]
