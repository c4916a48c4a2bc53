# SPDX-License-Identifier: MIT
"""The store takes no changes for a while. Phones get their 200 all the same, and are bound once it takes them again."""

import contextlib
import errno
import sqlite3
import subprocess

import pytest

from phones import mpush_android, no_push, rfc8599_fcm
from servers import wait_until
from test_removal import listing

PHONES = 80


class Disk:
    """A file system of its own that can be full."""

    def __init__(self, place):
        self.path = place
        self.ballast = place / "ballast"

    @contextlib.contextmanager
    def takes_nothing(self):
        with self.ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                assert error.errno == errno.ENOSPC
        yield
        self.ballast.unlink()


class Locked:
    """Another process has the lock of the file."""

    def __init__(self, place):
        self.path = place

    @contextlib.contextmanager
    def takes_nothing(self):
        with contextlib.closing(sqlite3.connect(self.path / "bindings.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")


@pytest.fixture(params=["full disk", "lock"])
def place(request, tmp_path):
    path = tmp_path / "disk"
    path.mkdir()
    if request.param == "lock":
        yield Locked(path)
        return
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "pushwake-test", path], check=False).returncode != 0:
        pytest.skip("only root makes a disk of its own")
    yield Disk(path)
    subprocess.run(["umount", "-l", path], check=True)


def is_promised(answer):
    return any("+sip.pns" in caps for caps in answer.headers("Feature-Caps"))


def rings(wire, simulator, server, phone):
    before = len(simulator.calls(phone.push.token))
    call = wire.call(server, phone.user)
    simulator.wait_push(phone.push.token, 10, after=before)
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    call.hang_up()


def test_phones_that_register_meanwhile_are_bound_afterwards(make_kamailio, wire, simulator, place):
    # In groups, the journal would take the first of them while another process has the lock.
    server = make_kamailio(settings={"store_path": str(place.path / "bindings.db"), "store_sync": "full"}, wake_timeout=8)
    server.start().wait_engine()
    known = wire.phone(server, "known", "udp", rfc8599_fcm())
    assert is_promised(known.register())
    with place.takes_nothing():
        phones = [wire.phone(server, f"late{number}", "udp", mpush_android() if number % 2 else rfc8599_fcm())
                  for number in range(PHONES)]
        answers = [phone.register() for phone in phones]
        # What is said twice counts as it was said last.
        moved = phones[2]
        old, moved.push = moved.push, rfc8599_fcm()
        moved.register()
        null = phones[4]
        null.push = no_push()
        null.register(600, f"<{null.uri};pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=null>")
        refused = sum(not is_promised(answer) for answer in answers)
        assert refused > PHONES // 2
        wait_until("they wait", lambda: server.counter("registers_waiting") >= refused)
    wait_until("all are stored", lambda: server.counter("registers_waiting") == 0)
    server.wait_log("all REGISTERs that waited are stored")
    assert server.counter("bindings") == PHONES
    for phone in phones:
        phone.sleep()
    for phone in (phones[0], phones[1], moved, phones[PHONES - 1]):
        rings(wire, simulator, server, phone)
    assert not simulator.pushes(old.token)
    assert "unbound by the phone" in listing(server, null.user)
    known.sleep()
    rings(wire, simulator, server, known)


def test_a_phone_that_registers_again_meanwhile_keeps_its_order(make_kamailio, wire, simulator, place):
    """Its REGISTER comes when there is room again, and what waits is older."""
    server = make_kamailio(settings={"store_path": str(place.path / "bindings.db"), "store_sync": "full"}, wake_timeout=8)
    server.start().wait_engine()
    with place.takes_nothing():
        phones = [wire.phone(server, f"order{number}", "udp", rfc8599_fcm()) for number in range(PHONES)]
        for phone in phones:
            phone.register()
    left = [phone.push for phone in phones]
    for phone in phones:
        phone.push = rfc8599_fcm()
        assert is_promised(phone.register())
    wait_until("all are stored", lambda: server.counter("registers_waiting") == 0)
    assert server.counter("bindings") == PHONES
    last = phones[-1]
    last.sleep()
    rings(wire, simulator, server, last)
    assert not any(simulator.pushes(push.token) for push in left)
