# SPDX-License-Identifier: MIT
"""Listing all bindings, while phones register."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from engine_client import QUERY, REGISTER, REPLY, message
from phones import mpush_android
from servers import PUSHWAKE, wait_until

USERS = 10_000


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
    wait_until("all are in the tables", lambda: store.execute("SELECT count(*) FROM bindings").fetchone()[0] == 30)
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


def stored(engine):
    """alice has an Apple token and one of Google's, bob and ann@example.com an Apple token each."""
    client = Client(engine)
    client.exchange([register(1, "alice"), register(2, "bob"), register(3, "ann@example.com")])
    google = "<sip:alice@192.0.2.9;pn-provider=fcm;pn-prid=dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2;pn-param=my-project>"
    client.exchange([message(REGISTER, 4, (1, "alice"), (2, "other"), (3, 1), (4, 3600), (5, "Contact"), (6, google))])


@pytest.fixture
def both(make_engine, simulator):
    made = make_engine(**simulator.settings())
    stored(made)
    return made


@pytest.mark.parametrize("arguments, users", [
    ([], ["alice", "alice", "ann@example.com", "bob"]),
    (["list"], ["alice", "alice", "ann@example.com", "bob"]),
    (["alice"], ["alice", "alice"]),
    (["--user", "a*"], ["alice", "alice", "ann@example.com"]),
    (["--user", "*@example.com"], ["ann@example.com"]),
    (["--provider", "fcm"], ["alice"]),
    (["--verdict", "NOT pushed", "--user", "b?b"], ["bob"]),
    (["--age", "-1h"], ["alice", "alice", "ann@example.com", "bob"]),
    (["--age", "+1h"], []),
    (["alice", "--provider", "apns"], ["alice"]),
])
def test_a_listing_has_what_was_asked_for(both, arguments, users):
    assert sorted(row["aor"] for row in json.loads(both.run("bindings", *arguments, "--json").stdout)) == users


def test_a_table_fits_a_hundred_characters(both):
    """An app's name of 130 characters, and a user's of 60."""
    app = "com.example." + "x" * 118
    contact = f"<sip:long@192.0.2.1;pn-provider=apns;pn-prid={7:064x};pn-param=DEF123GHIJ.{app}.voip>"
    Client(both).exchange([message(REGISTER, 9, (1, "long" * 15), (2, "c"), (3, 1), (4, 3600), (5, "Contact"), (6, contact))])
    lines = both.run("bindings").stdout.splitlines()
    assert len(lines) == 6 and max(map(len, lines)) == 100
    assert lines[0].split() == ["aor", "provider", "app", "token", "age", "verdict"]
    assert f"{7:064x}" not in both.run("bindings").stdout
    assert app in both.run("bindings", "--json").stdout
    shown = both.run("bindings", "show", "long" * 15).stdout
    assert app in shown and "registered_ago" in shown and f"{7:064x}" not in shown


def test_bindings_of_one_provider_are_removed(both):
    assert both.run("bindings", "remove", "alice", "--provider", "fcm").stdout == "removed 1 binding of alice\n"
    again = both.run("bindings", "remove", "alice", "--provider", "fcm")
    assert again.returncode == 1 and "no such push binding" in again.stderr
    shown = both.run("bindings", "show", "alice")
    assert shown.returncode == 0 and shown.stdout.count("provider  ") == 2 and "by hand" in shown.stdout
    assert "removed: by hand" in both.run("bindings", "alice").stdout
    assert json.loads(both.run("bindings", "remove", "alice", "--json").stdout) == {"removed": 1}
    assert both.run("bindings", "show", "nobody").returncode == 1
    assert sorted(row["aor"] for row in json.loads(both.run("bindings", "--json").stdout)) == ["ann@example.com", "bob"]


@pytest.mark.parametrize("arguments, remedy", [
    (["--provider", "google"], "write one of apns, fcm"), (["--age", "2d"], "+2d"), (["show"], "aor"), (["remove"], "aor"),
])
def test_a_wrong_condition_is_an_error_of_usage(both, arguments, remedy):
    done = both.run("bindings", *arguments)
    assert done.returncode == 2 and remedy in done.stderr, done.stderr


@pytest.mark.parametrize("arguments, remedy", [
    (["send", "custom", ""], "give an AoR"), (["registered", ""], "name the user"), (["trace", ""], "give a Call-ID"),
    (["doctor", ""], "name a user")])
def test_an_empty_user_is_a_mistake(both, arguments, remedy):
    """What a script leaves of a variable that it has not set."""
    done = both.run(*arguments)
    assert done.returncode in (1, 2) and remedy in done.stderr and not done.stdout, done


def on_terminal(command, until=lambda: None):
    """What a command writes to standard error when that is a terminal, and its exit code."""
    here, there = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=there) as process:
        os.close(there)
        until()
        text = b""
        while True:
            try:
                data = os.read(here, 65536)
            except OSError:
                break
            text += data
        os.close(here)
        return text.decode(), process.wait(60)


def test_a_long_listing_shows_a_terminal_how_far_it_is(engine):
    Client(engine).exchange(register(number, f"user{number}") for number in range(2000))
    command = [PUSHWAKE, "bindings", "--json", "--settings", engine.settings]

    def hold_up():
        time.sleep(1)
        engine.process.send_signal(signal.SIGCONT)

    engine.process.send_signal(signal.SIGSTOP)
    text, code = on_terminal(command, hold_up)
    assert code == 0 and re.search(r"\r\d+ bindings", text) and text.endswith("\r"), text
    assert engine.run("bindings", "--json").stderr == ""


def test_a_load_shows_a_terminal_how_far_it_is(make_simulator):
    simulator = make_simulator()  # nobody else wants to look through its log
    command = [PUSHWAKE, "load", "--dir", simulator.directory / "files", "--url", simulator.url, "--count", "100000"]
    text, code = on_terminal(command)
    assert code == 0 and re.search(r"\r\d+ of 100000 pushes, \d+ %, \d+s left", text) and text.endswith("\r"), text
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


@pytest.mark.parametrize("user", ["+49301234567", "0049301234567", "12e3"])
def test_kamcmd_is_told_that_a_number_is_a_user(kamailio, actors, user):
    actors.phone(kamailio, user, mpush_android()).register()
    assert f"aor: {user}\n" in kamailio.rpc("pushwake.show", f"s:{user}")
    assert "removed: 1" in kamailio.rpc("pushwake.remove", f"s:{user}")
