# SPDX-License-Identifier: MIT
"""Strangers who REGISTER in a user's name without knowing the password: the user's own phone registers as ever."""

import socket
import threading
import time

import pytest

from peers.upstream import REALM, contacts, make_gateway, make_registrar, register, sent
from phones import no_push, rfc8599_fcm
from servers import wait_until

PAUSE = 0.04
"""Seconds between two REGISTERs of the stranger."""
BOGUS = f'Authorization: Digest username="220", realm="{REALM}", nonce="y", uri="sip:{REALM}", response="{"0" * 32}"'


class LongWay:
    """Takes datagrams for a server and hands them on after a while, as a way through half the world does."""

    def __init__(self, server, seconds):
        self.server, self.seconds = server, seconds
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                data, _ = self.socket.recvfrom(65536)
            except OSError:
                return
            timer = threading.Timer(self.seconds, self.socket.sendto, (data, ("127.0.0.1", self.server.port)))
            timer.daemon = True
            timer.start()


@pytest.fixture
def flooded(make_kamailio, tmp_path, wire):
    """A gateway whose server is far away, and a stranger's REGISTERs until the test has ended."""
    over = threading.Event()

    def make(*lines, expires=600, **settings):
        registrar = make_registrar(make_kamailio)
        gateway = make_gateway(make_kamailio, LongWay(registrar, 0.3), tmp_path, **settings)
        phone = wire.phone(gateway, "220", "udp", rfc8599_fcm(), domain=REALM)

        def flood():
            while not over.is_set():
                stranger.send_register(expires, None, *lines)
                time.sleep(PAUSE)

        stranger = wire.phone(gateway, "220", "udp", no_push(), domain=REALM)
        threading.Thread(target=flood, daemon=True).start()
        wait_until("the stranger is at it", lambda: len(sent(registrar, "220")) > 3, 20)
        return phone, stranger, registrar

    yield make
    over.set()


@pytest.mark.parametrize("lines, settings", [
    ((), {}),
    ((BOGUS,), {}),
    (("X-PIID: " + "0" * 32,), {"prefer_md5_auth": 1}),
], ids=["nothing", "a wrong digest", "a wrong X-PIID"])
def test_a_stranger_takes_no_place_of_the_phone(flooded, lines, settings):
    phone, stranger, registrar = flooded(*lines, **settings)
    answers, seconds = [], []
    for _ in range(6):
        began = time.monotonic()
        answers.append(register(phone).status)
        seconds.append(time.monotonic() - began)
    assert answers == [200] * 6
    assert contacts(registrar, "220")
    # Two ways to the server and back, and none of them behind the stranger's.
    assert sorted(seconds)[3] < 2.5, seconds
    assert not [m for m in stranger.endpoint.messages if m.status == 200], "nobody else was let in"


def test_a_stranger_who_logs_the_user_out_keeps_no_phone_waiting(flooded):
    phone, stranger, registrar = flooded(BOGUS, expires=0)
    assert [register(phone).status for _ in range(6)] == [200] * 6
    assert contacts(registrar, "220")
