# SPDX-License-Identifier: MIT
"""pushwake.service under a real systemd, booted in a container: READY, watchdog, hardening, restart on upgrade."""

import json
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from debian import Debian, PackagedKamailio
from servers import wait_until

UNIT = "pushwake.service"


class Machine:
    """A Debian that systemd-nspawn has booted. It shares this system's network."""

    def __init__(self, debian, log):
        self.debian, self.log = debian, log
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-D", debian.path, "--register=no", "--keep-unit", "-b", "--console=pipe"],
            stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT)

    def leader(self):
        """Its first process, as this system sees it."""
        place = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return next(iter(place.read_text().split()), None) if place.exists() else None

    def is_up(self):
        leader = self.leader()
        return leader and self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def run(self, *command, check=True):
        done = subprocess.run(["nsenter", "-t", self.leader(), "-a", *command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def property(self, name):
        return self.run("systemctl", "show", UNIT, "-P", name).stdout.strip()

    def journal(self):
        return self.run("journalctl", "-u", UNIT, "--no-pager", "-o", "cat").stdout

    def stop(self):
        if self.process.poll() is None and self.leader():
            self.run("systemctl", "poweroff", check=False)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def machine(suite, packages, simulator, tmp_path_factory):
    if not shutil.which("systemd-nspawn"):
        pytest.skip("systemd-nspawn is missing: run scripts/make/setup.sh --test-packages")
    debian = Debian.make(suite)
    made = None
    try:
        debian.run("apt-get", "install", "-y", "--no-install-recommends", "systemd-sysv", "dbus")
        debian.install(packages, "libpushwake1", "pushwake")
        # From here on services are to start.
        (debian / "usr/sbin/policy-rc.d").unlink()
        settings = simulator.settings() | PackagedKamailio.give_keys(debian, simulator)
        (debian / "etc/pushwake/pushwake.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        # Two seconds rather than fifteen: a test waits for it.
        (debian / f"etc/systemd/system/{UNIT}.d").mkdir(parents=True)
        (debian / f"etc/systemd/system/{UNIT}.d/test.conf").write_text("[Service]\nWatchdogSec=2\n")
        made = Machine(debian, tmp_path_factory.mktemp("machine") / "console")
        try:
            wait_until("systemd is up", lambda: made.is_up() or made.process.poll() is not None, 60, step=0.2)
        except AssertionError:
            pytest.skip(f"systemd does not boot in a container here: {made.log.read_text(errors='replace')[-400:]}")
        if made.process.poll() is not None:
            pytest.skip(f"systemd does not boot in a container here: {made.log.read_text(errors='replace')[-400:]}")
        yield made
    finally:
        if made:
            made.stop()
        debian.remove()


def test_it_is_off_until_somebody_wants_it(machine):
    assert machine.run("systemctl", "is-enabled", UNIT, check=False).stdout.strip() == "disabled"
    assert machine.run("systemctl", "is-active", UNIT, check=False).stdout.strip() == "inactive"


def test_it_is_ready_when_it_listens_and_pushes_from_its_sandbox(machine):
    machine.run("systemctl", "enable", "--now", UNIT)
    # Type=notify: the start has ended, so it listens.
    sent = machine.run("pushwake", "send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", "ab" * 32)
    assert "accepted" in sent.stdout
    assert machine.run("systemctl", "status", UNIT, "--no-pager").returncode == 0
    assert "warning" not in machine.journal() and "error" not in machine.journal(), machine.journal()


def test_it_is_hardened(machine):
    said = machine.run("systemd-analyze", "security", UNIT, "--no-pager").stdout
    level = float(said.split(f"for {UNIT}:")[1].split()[0])
    assert level < 2


def test_bindings_are_copied_each_day(machine):
    assert machine.run("systemctl", "is-enabled", "pushwake-backup.timer").stdout.strip() == "enabled"
    assert "pushwake-backup.timer" in machine.run("systemctl", "list-timers", "--no-pager").stdout
    now = int(time.time())
    binding = {"aor": "alice", "provider": "apns", "app": "com.example.phone", "token": "ab" * 32, "dialect": "rfc8599",
               "cseq": 1, "registered_at": now, "expires_at": now + 600, "forget_at": now + 86400}
    (machine.debian / "root/bindings.jsonl").write_text(json.dumps(binding) + "\n")
    machine.run("pushwake", "bindings", "import", "/root/bindings.jsonl")
    machine.run("systemctl", "start", "pushwake-backup.service")
    found = machine.run("sh", "-c", "cd /var/lib/pushwake/backup && stat -c '%n %U %a' * && stat -c '%U %a' .").stdout
    assert re.fullmatch(r"bindings-\d{4}-\d\d-\d\d\.jsonl pushwake 600\npushwake 700\n", found), found
    assert "ab" * 32 in machine.run("sh", "-c", "cat /var/lib/pushwake/backup/*").stdout
    said = machine.run("systemd-analyze", "security", "pushwake-backup.service", "--no-pager").stdout
    assert float(said.split("for pushwake-backup.service:")[1].split()[0]) < 2


def test_it_reads_its_keys_again(machine):
    before = machine.property("MainPID")
    machine.run("systemctl", "reload", UNIT)
    assert machine.run("pushwake", "stats").returncode == 0
    assert machine.property("MainPID") == before


def test_one_that_stands_still_is_started_anew(machine):
    pid = machine.property("MainPID")
    machine.run("sh", "-c", f"kill -STOP {pid}")
    wait_until("the watchdog has had it killed", lambda: machine.property("NRestarts") == "1", 20, step=0.2)
    wait_until("another one answers", lambda: machine.run("pushwake", "stats", check=False).returncode == 0, 20, step=0.2)
    assert machine.property("MainPID") != pid
    assert "Watchdog timeout" in machine.journal()


def test_an_upgrade_starts_the_new_one(machine, newer_packages):
    pid = machine.property("MainPID")
    for name in ("libpushwake1", "pushwake"):
        shutil.copy(newer_packages[name], machine.debian / "root")
    files = [f"/root/{newer_packages[name].name}" for name in ("libpushwake1", "pushwake")]
    machine.run("dpkg", "-i", *files)
    assert machine.property("ActiveState") == "active" and machine.property("MainPID") != pid
    assert machine.run("pushwake", "stats").returncode == 0


def test_a_wrong_setting_is_named_once(machine):
    settings = machine.debian / "etc/pushwake/pushwake.conf"
    before = settings.read_text()
    settings.write_text(before + "no_such_setting = 1\n")
    assert machine.run("systemctl", "restart", UNIT, check=False).returncode != 0
    assert machine.property("ActiveState") == "failed" and machine.property("ExecMainStatus") == "2"
    assert machine.journal().count("no_such_setting") == 1
    settings.write_text(before)
    machine.run("systemctl", "restart", UNIT)


def test_purge_stops_it_and_leaves_nothing(machine):
    machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "purge", "-y", "pushwake", "libpushwake1")
    assert machine.run("systemctl", "is-active", UNIT, check=False).stdout.strip() != "active"
    assert machine.run("ls", "/run").stdout.split().count("pushwake") == 0
    # Below the /run of the machine lies what was made before it was booted.
    ours = (f"/etc/systemd/system/{UNIT}.d", "/run")
    left = [path for path in machine.debian.files() if "pushwake" in path and not path.startswith(ours)]
    assert left == []
    assert not machine.debian.account("pushwake")
