# SPDX-License-Identifier: MIT
"""What systemd hears of an engine that it runs: Type=notify and the watchdog."""

import os
import re
import socket
import subprocess

import pytest

from servers import PUSHWAKE, ROOT, stopped, wait_until


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(5)

    def hear(self):
        return self.socket.recv(256).decode()

    def hear_until(self, text):
        """What came before this message."""
        said = []
        while (message := self.hear()) != text:
            said.append(message)
        return said

    def is_quiet(self):
        self.socket.setblocking(False)
        try:
            return self.hear() == ""
        except BlockingIOError:
            return True


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path, monkeypatch):
    address = str(tmp_path / "notify") if request.param == "path" else f"\0pushwake-{os.getpid()}"
    made = Manager(address)
    monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
    yield made
    made.socket.close()


def test_an_engine_says_when_it_is_ready_lives_and_ends(manager, make_engine, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    engine = make_engine()
    assert manager.hear_until("READY=1") == []
    assert engine.run("stats").returncode == 0
    assert [manager.hear() for _ in range(5)] == ["WATCHDOG=1"] * 5
    engine.process.terminate()
    assert set(manager.hear_until("STOPPING=1")) <= {"WATCHDOG=1"}
    assert engine.process.wait(5) == 0


def test_an_engine_that_stands_still_is_silent(manager, make_engine, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    engine = make_engine()
    manager.hear_until("WATCHDOG=1")
    with stopped(engine.process.pid):
        wait_until("it is stopped", lambda: "State:\tT" in open(f"/proc/{engine.process.pid}/status").read())
        manager.is_quiet()
        manager.socket.settimeout(0.9)
        with pytest.raises(TimeoutError):
            # What was under way may still come.
            for _ in range(8):
                manager.hear()


@pytest.mark.parametrize("variables", [{}, {"WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}])
def test_nobody_asked_for_signs_of_life(manager, make_engine, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    engine = make_engine()
    manager.hear_until("READY=1")
    assert engine.run("stats").returncode == 0
    engine.process.terminate()
    assert manager.hear_until("STOPPING=1") == []


def test_an_engine_that_kamailio_runs_does_not_speak_for_it(manager, make_kamailio):
    kamailio = make_kamailio().start().wait_engine()
    kamailio.stop()
    assert manager.is_quiet()


def test_a_manager_that_is_gone_stops_nothing(make_engine, monkeypatch, tmp_path):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    assert make_engine().run("stats").returncode == 0


@pytest.mark.parametrize("is_journal", [True, False])
def test_lines_for_the_journal_have_its_priority_and_no_date(tmp_path, is_journal):
    (tmp_path / "pushwake.conf").write_text(f"engine_socket = {tmp_path}/s\nstore_path = {tmp_path}/missing/too/bindings.db\n")
    with open(tmp_path / "log", "w") as log:
        status = os.fstat(log.fileno())
        stream = f"{status.st_dev}:{status.st_ino if is_journal else 1}"
        done = subprocess.run([PUSHWAKE, "engine", "--settings", tmp_path / "pushwake.conf"], stderr=log, timeout=10,
                              env={**os.environ, "JOURNAL_STREAM": stream})
    assert done.returncode != 0
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert re.match("<3>[a-z]" if is_journal else r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d error ", last), last


def test_the_unit_is_started_until_it_works():
    """systemd gives up after five starts in ten seconds unless told otherwise: a store whose disk comes later would stay away."""
    text = (ROOT / "debian/pushwake.service").read_text()
    assert re.search(r"^Restart=always$", text, re.M)
    assert re.search(r"^StartLimitIntervalSec=0$", text.split("[Service]")[0], re.M)


def test_arguments_are_found_beside_a_library_that_changes_the_environment(tmp_path):
    """Such as libfaketime, which was preloaded into the PBX."""
    source, built = tmp_path / "change.c", tmp_path / "change.so"
    source.write_text('#include <stdlib.h>\n__attribute__((constructor)) static void change(void) { setenv("NEW", "1", 1); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)
    done = subprocess.run([PUSHWAKE, "payload", "plain", ""], env={**os.environ, "LD_PRELOAD": str(built)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "write apns, fcm or webpush" in done.stderr, done
