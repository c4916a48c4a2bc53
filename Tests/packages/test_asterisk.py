# SPDX-License-Identifier: MIT
"""The package of Asterisk's module in a fresh Debian sid: the one Debian that packages Asterisk."""

import subprocess

import pytest

from debian import ENVIRONMENT, Debian
from servers import ROOT, wait_until

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


def test_asterisk_loads_it_and_its_engine_answers(sid, built):
    sid.install(built, *NAMES)
    assert sid.processes() == []
    (sid / "etc/asterisk/pushwake.conf").write_text("[general]\nwake_timeout = 10\n")
    # Nobody else's port: the sample configuration of the package listens on 5060.
    (sid / "etc/asterisk/pjsip.conf").write_text("[udp]\ntype = transport\nprotocol = udp\nbind = 127.0.0.1:0\n")
    log = sid / "var/tmp/asterisk.out"
    with log.open("wb") as output:
        asterisk = subprocess.Popen(sid.command(*AS_THE_UNIT), env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT)
        try:
            def module():
                return sid.run("asterisk", "-rx", "module show like res_pushwake", check=False).stdout

            wait_until("the module runs", lambda: "Running" in module() or asterisk.poll() is not None, 60, step=0.5)
            assert asterisk.poll() is None, log.read_text()
            wait_until("the engine answers", lambda: "bindings" in sid.run("pushwake", "stats", check=False).stdout, 10,
                       step=0.2)
            owner = sid.run("stat", "-c", "%U %G", "/var/lib/pushwake/bindings.db").stdout.split()
            assert owner == ["asterisk", "pushwake"]
        finally:
            asterisk.terminate()
            try:
                asterisk.wait(20)
            finally:
                asterisk.kill()


def test_purge_leaves_nothing(sid):
    sid.run("rm", "/etc/asterisk/pushwake.conf")
    sid.run("apt-get", "purge", "-y", *NAMES)
    assert [path for path in sid.files() if "pushwake" in path] == []
    assert not sid.account("pushwake")
