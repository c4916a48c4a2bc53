# SPDX-License-Identifier: MIT
"""Clients that take all descriptors, leave while they wait, or speak nonsense; a log that nobody reads."""

import json
import os
import socket
import subprocess
import time
import uuid

import pytest

from peers.raw_provider import RawProvider, friendly
from servers import PUSHWAKE, wait_until


@pytest.fixture
def provider(simulator):
    made = []

    def make(behave):
        made.append(RawProvider(simulator.directory / "files", behave))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def apns(make_engine, simulator, provider):
    def make(behave, **settings):
        url = provider(behave).url
        keys = {name: simulator.settings()[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}
        return make_engine(apns_url=url, apns_sandbox_url=url, **keys, **settings)
    return make


def mute(peer):
    peer.preface()
    for _ in peer.frames():
        pass


def descriptors(engine):
    return len(os.listdir(f"/proc/{engine.process.pid}/fd"))


def cpu_seconds(engine):
    fields = open(f"/proc/{engine.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(engine):
    """A client of our own; nil when the kernel takes no more."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(5)
    try:
        client.connect(str(engine.settings.parent / "engine.sock"))
    except OSError:
        client.close()
        return None
    return client


def send_command(engine, *more):
    return [PUSHWAKE, "send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", uuid.uuid4().hex,
            "--json", "--settings", engine.settings, *more]


class Relay:
    """Takes one client's request, so that it can be sent over another connection."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.path = path

    def take(self, engine, *more):
        """A process that waits for its answer, its connection and its request."""
        process = subprocess.Popen(send_command(engine, "--set", f"engine_socket={self.path}", *more),
                                   stdout=subprocess.PIPE, text=True)
        connection, _ = self.listener.accept()
        return process, connection, connection.recv(1 << 20)


def test_a_client_that_leaves_with_an_answer_pending_keeps_no_descriptor(apns):
    engine = apns(mute)
    waiting = subprocess.Popen(send_command(engine, "--timeout", "60"), stdout=subprocess.DEVNULL)
    wait_until("its push is under way", lambda: engine.stats()["in_flight"] == 1)
    waiting.kill()
    waiting.wait(5)
    before = descriptors(engine)
    gone = [subprocess.Popen(send_command(engine, "--timeout", "60"), stdout=subprocess.DEVNULL) for _ in range(10)]
    wait_until("all are under way", lambda: engine.stats()["in_flight"] + engine.stats()["queue_waiting"] >= 11
               if "queue_waiting" in engine.stats() else descriptors(engine) >= before + 10)
    for process in gone:
        process.kill()
        process.wait(5)
    wait_until("their descriptors are free", lambda: descriptors(engine) <= before, 5)


def test_a_client_that_speaks_nonsense_while_it_waits_reads_the_end(apns, tmp_path):
    engine = apns(mute)
    relay = Relay(tmp_path / "relay.sock")
    process, _, request = relay.take(engine, "--timeout", "60")
    client = connect(engine)
    client.send(request)
    client.send(b"\xff" * 40)
    assert client.recv(1 << 16) == b""
    process.kill()
    process.wait(5)


@pytest.fixture
def crowded(apns, monkeypatch):
    """An engine with 64 descriptors."""
    program = subprocess.Popen

    def limited(arguments, **options):
        if list(arguments[1:2]) == ["engine"]:
            arguments = ["prlimit", "--nofile=64:64", *arguments]
        return program(arguments, **options)
    monkeypatch.setattr("servers.subprocess.Popen", limited)
    return apns(friendly)


def test_clients_without_end_cost_no_cpu_and_no_push(crowded, tmp_path):
    engine = crowded
    relay = Relay(tmp_path / "relay.sock")
    process, asker, request = relay.take(engine)
    early = connect(engine)
    crowd = []
    for _ in range(150):
        client = connect(engine)
        if client is None:
            break
        crowd.append(client)
    assert len(crowd) > 64
    wait_until("the log says so", lambda: "descriptors are in use" in engine.text())
    begin, spent = time.monotonic(), cpu_seconds(engine)
    wait_until("two seconds are over", lambda: time.monotonic() - begin > 2)
    assert cpu_seconds(engine) - spent < 0.3
    # Who is there already can push: connections to the provider have a reserve.
    early.send(request)
    asker.send(early.recv(1 << 16))
    rows = json.loads(process.communicate(timeout=20)[0])
    assert [row["outcome"] for row in rows] == ["accepted"]
    assert engine.text().count("descriptors are in use") == 1
    for client in crowd:
        client.close()
    done = wait_until("others come in again", lambda: subprocess.run(
        send_command(engine), capture_output=True, text=True, timeout=20, check=False).stdout)
    assert json.loads(done)[0]["outcome"] == "accepted"


def test_a_log_that_nobody_reads_stops_nothing(apns):
    engine = apns(friendly)
    engine.stop()
    reader, writer = os.pipe()
    engine.process = subprocess.Popen(
        [PUSHWAKE, "engine", "--settings", engine.settings, "--set", "log_level=debug"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=writer)
    wait_until("it answers", lambda: engine.run("stats", "--json").returncode == 0)
    # Fill what is left of the pipe: from here on no line leaves.
    spare = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(spare, b"x" * size)
        except BlockingIOError:
            pass
    for _ in range(3):
        done = subprocess.run(send_command(engine), capture_output=True, text=True, timeout=20, check=False)
        assert json.loads(done.stdout)[0]["outcome"] == "accepted"
    os.set_blocking(reader, False)
    wait_until("the pipe is empty", lambda: _drain(reader) == b"")
    subprocess.run(send_command(engine), capture_output=True, timeout=20, check=True)
    text = wait_until("the next line", lambda: _drain(reader)).decode()
    assert "log lines were dropped because the log was blocked" in text
    os.close(spare)
    os.close(reader)
    os.close(writer)


def _drain(reader):
    out = b""
    try:
        while data := os.read(reader, 65_536):
            out += data
    except BlockingIOError:
        pass
    return out


def test_private_keys_are_in_memory_that_is_not_dumped(apns):
    engine = apns(friendly)
    # The arena that OpenSSL keeps them in: writable, and marked "do not dump".
    areas = open(f"/proc/{engine.process.pid}/smaps").read().split("VmFlags:")[1:]
    flags = [area.split("\n", 1)[0].split() for area in areas]
    assert any("wr" in words and "dd" in words for words in flags)


def test_standard_descriptors_that_are_closed_lead_nowhere(make_engine):
    """Else a file, a timer or a socket would have their numbers, and be given the log."""
    engine = make_engine()
    engine.stop()
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$0" engine --settings "$1" <&- >&- 2>&-', PUSHWAKE, engine.settings])
    try:
        wait_until("it answers", lambda: engine.run("stats").returncode == 0)
        assert {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)} == {"/dev/null"}
    finally:
        process.terminate()
        process.wait(10)
