# SPDX-License-Identifier: MIT
"""The package of Asterisk's module in a fresh Debian sid: the one Debian that packages Asterisk."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from debian import ENVIRONMENT, Debian, newer
from phones import fcm_token
from ports import free_port
from servers import ROOT, wait_until

sys.path.append(str(ROOT / "Tests" / "e2e-asterisk"))

from sip_phone import Phone  # noqa: E402

# As the unit of Debian has it; with -G Asterisk leaves all groups but that one.
AS_THE_UNIT = ["asterisk", "-g", "-f", "-U", "asterisk", "-G", "asterisk"]
NAMES = ["libpushwake1", "pushwake", "asterisk-pushwake-module"]


@pytest.fixture(scope="module")
def built():
    directory = ROOT / ".build" / "deb-asterisk"
    found = {path.name.split("_")[0]: path for path in directory.glob("*.deb")}
    assert set(NAMES) <= set(found), f"{directory} lacks packages: run make test-packages"
    assert "kamailio-pushwake-module" not in found, "no Kamailio is installed there"
    return found


@pytest.fixture(scope="module")
def sid():
    made = Debian.make("sid")
    yield made
    made.remove()


def test_it_is_for_exactly_this_asterisk(built):
    depends = subprocess.run(["dpkg-deb", "-f", built["asterisk-pushwake-module"], "Depends"], capture_output=True,
                             text=True, check=True).stdout
    assert "asterisk-abi-" in depends


def test_lintian_finds_no_error(built):
    changes = next(built["pushwake"].parent.glob("*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", changes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


PJSIP = """
[udp]
type = transport
protocol = udp
bind = 127.0.0.1:{port}
[phone](!)
type = endpoint
context = phones
allow = !all,ulaw
direct_media = no
[100](phone)
aors = 100
[100]
type = aor
max_contacts = 5
[caller](phone)
"""
DIALPLAN = """
[phones]
exten => _X.,1,PushWake(${EXTEN},20)
 same => n,Dial(${PUSHWAKE_CONTACTS},20)
"""


class Host:
    """Debian's Asterisk with the package, started as its unit does."""

    def __init__(self, debian, simulator):
        self.debian, self.simulator, self.process = debian, simulator, None
        self.address = ("127.0.0.1", free_port())
        self.log = debian / "var/tmp/asterisk.out"
        self.sleeper = None

    def write_configuration(self):
        settings = {"wake_timeout": 20, **self.give_keys()}
        (self.debian / "etc/asterisk/pushwake.conf").write_text(
            "[general]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        # Nobody else's port: the sample configuration of the package listens on 5060.
        (self.debian / "etc/asterisk/pjsip.conf").write_text(PJSIP.format(port=self.address[1]))
        (self.debian / "etc/asterisk/extensions.conf").write_text(DIALPLAN)

    def give_keys(self):
        """Files that Asterisk's own user can read: it leaves the group pushwake at its start."""
        settings = {name: value for name, value in self.simulator.settings().items() if name.startswith(("fcm_", "ca_"))}
        owner = int(self.debian.run("id", "-u", "asterisk").stdout)
        for name in ("ca_file", "fcm_key"):
            source = pathlib.Path(settings[name])
            copy = self.debian / "etc/pushwake" / source.name
            shutil.copy(source, copy)
            os.chown(copy, owner, 0)
            copy.chmod(0o600)
            settings[name] = f"/etc/pushwake/{source.name}"
        return settings

    def start(self):
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(self.debian.command(*AS_THE_UNIT), env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=subprocess.STDOUT)
        wait_until("the module runs", lambda: "Running" in self.module() or self.process.poll() is not None, 60, step=0.5)
        assert self.process.poll() is None, self.log.read_text()
        wait_until("the engine answers", lambda: "bindings" in self.debian.run("pushwake", "stats", check=False).stdout, 10,
                   step=0.2)

    def module(self):
        return self.debian.run("asterisk", "-rx", "module show like res_pushwake", check=False).stdout

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process = None

    def rings(self):
        """A phone sleeps, is called, is pushed, wakes, answers and is hung up; it is the same one each time."""
        parameters = f";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={self.token}"
        if self.sleeper is None:
            phone = Phone("100", self.address)
            assert phone.register(parameters).status == 200
            self.sleeper = phone.instance
            phone.close()
        seen = len(self.simulator.pushes(self.token))
        with Phone("caller", self.address) as caller, Phone("100", self.address) as phone:
            call = caller.call("100")
            self.simulator.wait_push(self.token, after=seen, seconds=10)
            phone.instance = self.sleeper
            assert phone.register(parameters).status == 200
            invite = phone.expect_request("INVITE", 10)
            phone.ring(invite)
            phone.answer(invite, 10)
            call.expect(200, 10)
            call.end()

    token = fcm_token()


@pytest.fixture(scope="module")
def host(sid, simulator):
    made = Host(sid, simulator)
    yield made
    made.stop()


def test_asterisk_loads_it_and_a_sleeping_phone_rings(sid, built, host, stopwatch):
    begin = time.monotonic()
    sid.install(built, *NAMES)
    stopwatch("sid with Asterisk", "apt install, Asterisk and its download included", time.monotonic() - begin)
    assert sid.processes() == []
    host.write_configuration()
    begin = time.monotonic()
    host.start()
    owner = sid.run("stat", "-c", "%U %G", "/var/lib/pushwake/bindings.db").stdout.split()
    assert owner == ["asterisk", "pushwake"]
    host.rings()
    stopwatch("sid with Asterisk", "start, and a call to a sleeping phone", time.monotonic() - begin)


def test_an_upgrade_keeps_bindings_and_a_downgrade_is_refused(sid, built, host, tmp_path):
    sid.install({name: newer(path, tmp_path) for name, path in built.items() if name in NAMES}, *NAMES)
    assert {version[0] for _, version in sid.versions().values()} == {"9"}
    # The Asterisk that runs keeps what it has loaded.
    host.rings()
    host.stop()
    host.start()
    host.rings()
    done = sid.install(built, *NAMES, check=False)
    assert done.returncode != 0 and "is older: it would not know what the newer one has stored" in done.stdout + done.stderr
    sid.run("dpkg", "--configure", "-a")
    host.rings()
    host.stop()


def test_purge_leaves_nothing(sid):
    sid.run("rm", "/etc/asterisk/pushwake.conf")
    sid.run("apt-get", "purge", "-y", *NAMES)
    assert [path for path in sid.files() if "pushwake" in path] == []
    assert not sid.account("pushwake")
