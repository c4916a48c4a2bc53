# SPDX-License-Identifier: MIT
"""Listing all bindings, while phones register."""

import json
import re
import socket
import sqlite3
import struct
import subprocess
import time

import pytest

from servers import PUSHWAKE

REGISTER, QUERY, REPLY = 1, 6, 64
USERS = 10_000


def message(kind, number, *fields):
    """One message of Sources/PushWakeEngine/Protocol/EngineProtocol.swift."""
    parts = [struct.pack("<BBI", 1, kind, number)]
    for tag, value in fields:
        data = struct.pack("<q", value) if isinstance(value, int) else value.encode()
        parts += [struct.pack("<BI", tag, len(data)), data]
    return b"".join(parts)


def register(number, user, instance="", contact=""):
    contact = (f"<sip:{user}@192.0.2.1:{1024 + number % 50000};pn-provider=apns;pn-prid={number:064x};"
               f"pn-param=DEF123GHIJ.com.example.phone.voip>{instance}")
    return message(REGISTER, number, (1, user), (2, f"{user}-{number}"), (3, 1), (4, 3600), (5, "Contact"), (6, contact))


class Client:
    def __init__(self, engine):
        path = re.search(r"engine_socket = (\S+)", engine.settings.read_text())[1]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)

    def answers(self):
        data = self.socket.recv(1 << 18)
        assert data[1] == REPLY, data
        return data

    def exchange(self, messages):
        waiting = 0
        for data in messages:
            self.socket.send(data)
            waiting += 1
            if waiting == 100:
                self.answers()
                waiting -= 1
        for _ in range(waiting):
            self.answers()


@pytest.fixture
def engine(make_engine, simulator):
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("apns_key") or name == "apns_team_id"}
    return make_engine(bindings_per_user=256, **keys)


def listed(engine, *arguments):
    done = engine.run("bindings", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_listing_has_everybody_once(engine):
    Client(engine).exchange(register(number, f"user{number}") for number in range(USERS))
    rows = listed(engine)
    assert len(rows) == USERS and len({row["aor"] for row in rows}) == USERS


@pytest.mark.alone
def test_a_page_of_a_listing_comes_behind_the_requests(engine):
    """However many pages are asked for at once, a REGISTER that comes with them waits for one of them at most."""
    client = Client(engine)
    client.exchange(register(number, f"user{number}") for number in range(USERS))
    listers = [Client(engine) for _ in range(20)]
    shares = []
    for attempt in range(20):
        begin = time.perf_counter()
        for lister in listers:
            lister.socket.send(message(QUERY, attempt + 1, (23, 1), (24, ""), (25, "")))
        client.socket.send(register(USERS + attempt, f"late{attempt}"))
        client.answers()
        registered = time.perf_counter()
        for lister in listers:
            lister.answers()
        shares.append((registered - begin) / (time.perf_counter() - begin))
    assert sorted(shares)[len(shares) // 2] < 0.4, shares


def test_the_longest_bindings_of_one_user_fill_several_pages(engine):
    client = Client(engine)
    client.exchange(
        register(number, "many", f';+sip.instance="<urn:uuid:{number:04d}-{"x" * 450}>"') for number in range(256))
    rows = listed(engine)
    assert len(rows) > 100 and len({row["instance"] for row in rows}) == len(rows)
    assert len(listed(engine, "many")) >= len(rows)


def test_one_row_that_cannot_be_read_hides_nobody(engine):
    Client(engine).exchange(register(number, f"user{number}") for number in range(30))
    path = re.search(r"store_path = (\S+)", engine.settings.read_text())[1]
    store = sqlite3.connect(path)
    broken = store.execute("SELECT uid << 8 FROM users WHERE aor = 'user7'").fetchone()[0]
    column = [row[1] for row in store.execute("PRAGMA table_info(bindings)")][-1]
    changed = store.execute(f"UPDATE bindings SET {column} = x'ff' WHERE id BETWEEN ? AND ?", (broken, broken + 255))
    assert changed.rowcount == 1
    store.commit()
    store.close()
    rows = listed(engine)
    assert {row["aor"] for row in rows} == {f"user{number}" for number in range(30) if number != 7}
    assert "user7 cannot be read" in engine.text()


def test_rows_that_cannot_be_written_are_a_failure(engine):
    Client(engine).exchange(register(number, f"user{number}") for number in range(3))
    for arguments in (["bindings"], ["bindings", "--json"], ["stats"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PUSHWAKE, *arguments, "--settings", engine.settings], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1 and "cannot write: No space left on device" in done.stderr, arguments
