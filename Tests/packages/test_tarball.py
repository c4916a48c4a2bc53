# SPDX-License-Identifier: MIT
"""The tarball in fresh Debians without Swift: a module for the Kamailio or Asterisk that is there, and a phone that rings."""

import re
import shutil
import subprocess

import pytest

from debian import Debian, PackagedKamailio, ServiceManager
from servers import ROOT
from test_asterisk import Host
from test_life import rings

LIBRARIES = ("libnghttp2-14", "libjansson4", "libsqlite3-0", "ca-certificates")
COMPILER = ("gcc", "libc6-dev", "make")


@pytest.fixture(scope="module")
def tarball():
    found = sorted((ROOT / ".build/tarball").glob("*.tar.gz"))
    assert found, "run make tarball"
    return found[-1]


def unpacked(suite, tarball, *packages):
    """A Debian with the tarball's content in /root/pushwake."""
    made = Debian.make(suite)
    made.run("apt-get", "install", "-y", *LIBRARIES, *COMPILER, *packages)
    unpack(made, tarball)
    return made


def unpack(debian, tarball):
    shutil.copy(tarball, debian / "root")
    debian.run("sh", "-c", "cd /root && tar -xf pushwake-*.tar.gz && mv pushwake-*/ pushwake")
    assert debian.run("sh", "-c", "command -v swift", check=False).returncode != 0


def script(debian, name, *words, **environment):
    return debian.run(f"/root/pushwake/scripts/make/{name}", *words, **environment)


@pytest.mark.parametrize("suite", ["bookworm", "trixie", "sid"])
def test_a_phone_rings_with_the_module_for_debians_kamailio(suite, tarball, place, wire, simulator):
    debian = unpacked(suite, tarball, "kamailio", "dpkg-dev", "bison", "flex", "libssl-dev", "pkg-config")
    try:
        built = debian.run("/root/pushwake/scripts/make/build-module.sh", "kamailio", check=False)
        if built.returncode and suite == "sid" and "has no source of" in built.stderr:
            pytest.skip(built.stderr.strip())
        assert built.returncode == 0, built.stdout + built.stderr
        script(debian, "install.sh", "common", "kamailio", "host")
        assert not (debian / "usr/local/lib/pushwake-openssl").exists(), "the host has an OpenSSL 3"
        debian.run("sh", "-c", "cd /etc/kamailio && /usr/local/share/pushwake/kamailio-stock.sh kamailio.cfg > new && mv new kamailio.cfg")
        # Keys are given to the group of who runs the engine.
        debian.run("groupadd", "pushwake")
        debian.run("usermod", "-aG", "pushwake", "kamailio")
        (debian / "etc/pushwake").mkdir()
        kamailio = PackagedKamailio(debian, place, simulator)
        try:
            kamailio.start().wait_engine()
            rings(kamailio, wire, simulator)
        finally:
            kamailio.stop()
        script(debian, "install.sh", "uninstall")
        left = [path for path in debian.files() if "pushwake" in path and not path.startswith(("/etc/", "/run/", "/var/lib/"))]
        assert left == []
    finally:
        debian.remove()


def test_the_oldest_c_library_runs_an_engine_with_the_openssl_of_the_tarball(tarball, place, simulator):
    """Debian 11: glibc 2.31, OpenSSL 1.1, and a Kamailio that is too old; the module of a later one is compiled there."""
    debian = unpacked("bullseye", tarball)
    try:
        source = next(path for path in sorted((ROOT / ".cache").glob("kamailio-5.6*")) if (path / "cflags").exists())
        shutil.copytree(source, debian / "root/headers")
        debian.run("useradd", "--user-group", "--create-home", "pushwake")
        script(debian, "install.sh", "common", "host", RUN_AS="pushwake")
        assert (debian / "usr/local/lib/pushwake-openssl/libssl.so.3").exists()
        debian.run("make", "-s", "-C", "/root/pushwake/kamailio-glue", "KAMAILIO_SRC=/root/headers", "PUSHWAKE_LIB=/usr/local/lib",
                   "OUT=/root/objects", "MODULE=/root/pushwake.so")
        loaded = debian.run("ldd", "/root/pushwake.so").stdout
        assert "not found" not in loaded and "pushwake-openssl/libssl.so.3" in loaded
        (debian / "etc/pushwake").mkdir()
        settings = simulator.settings() | PackagedKamailio.give_keys(debian, simulator)
        (debian / "etc/pushwake/pushwake.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        manager = ServiceManager(debian, place).start()
        try:
            sent = debian.run("pushwake", "send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", "ab" * 32)
            assert "accepted" in sent.stdout
            assert sent.stderr == ""
        finally:
            manager.stop()
    finally:
        debian.remove()


def test_a_phone_rings_with_the_module_for_debians_asterisk(tarball, simulator):
    """In a copy of the sid that has Asterisk's headers and a compiler."""
    chroot = ROOT / ".cache/asterisk-sid"
    assert (chroot / "usr/include/asterisk.h").exists(), "run scripts/chroot/asterisk-chroot.sh"
    debian = Debian.copy(chroot, "sid")
    host = None
    try:
        unpack(debian, tarball)
        script(debian, "build-module.sh", "asterisk")
        script(debian, "install.sh", "common", "asterisk", "host", RUN_AS="asterisk")
        (debian / "etc/pushwake").mkdir(exist_ok=True)
        host = Host(debian, simulator)
        host.write_configuration()
        host.start()
        host.rings()
    finally:
        if host:
            host.stop()
        debian.remove()


def test_what_is_missing_is_named(tarball, tmp_path):
    subprocess.run(["tar", "-xf", tarball, "-C", tmp_path], check=True)
    build = next(tmp_path.glob("pushwake-*")) / "scripts/make/build-module.sh"
    for words, environment, wanted in (
            (["opensips"], {}, "say for which: kamailio or asterisk"),
            (["kamailio"], {"CC": "no-such-compiler"}, "no-such-compiler is missing"),
            (["kamailio", "/nonexistent"], {"KAMAILIO_SOURCE": ""}, "/nonexistent is not a source of Kamailio"),
            (["asterisk", "/nonexistent"], {}, "/nonexistent is not a source tree of Asterisk")):
        done = subprocess.run([build, *words], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | environment, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr


def test_the_unit_is_the_packages_own_with_its_own_place(tarball, tmp_path):
    subprocess.run(["tar", "-xf", tarball, "-C", tmp_path], check=True)
    install = next(tmp_path.glob("pushwake-*")) / "scripts/make/install.sh"
    subprocess.run([install, "common", "host"], check=True, env={"PATH": "/usr/bin:/bin", "DESTDIR": str(tmp_path / "root"), "PREFIX": "/opt/pw",
                                                              "RUN_AS": "sip"})
    unit = (tmp_path / "root/opt/pw/lib/systemd/system/pushwake.service").read_text()
    assert "ExecStart=/opt/pw/bin/pushwake engine" in unit and re.search("^User=sip\nGroup=sip$", unit, re.M)
    assert (tmp_path / "root/opt/pw/lib/tmpfiles.d/pushwake.conf").read_text() == \
        "d /run/pushwake 0751 sip sip -\nd /var/lib/pushwake 0750 sip sip -\n"
