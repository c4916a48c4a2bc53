# SPDX-License-Identifier: MIT
"""scripts/make/setup.sh on a fresh Debian: it installs what building needs, and starts nothing."""

import os
import shutil
import subprocess

import pytest

from debian import Debian
from servers import ROOT

POLICY = "usr/sbin/policy-rc.d"


@pytest.fixture(scope="module")
def fresh():
    made = Debian.make("bookworm")
    (made / POLICY).unlink()
    shutil.copytree(ROOT / "scripts", made / "pushwake/scripts")
    # Only that it is there is looked at.
    (made / "usr/bin/swift").write_text("#!/bin/sh\n")
    (made / "usr/bin/swift").chmod(0o755)
    yield made
    made.remove()


def installed(debian, *names):
    done = debian.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names, check=False)
    return {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}


def test_when_apt_fails_the_policy_is_gone_and_the_packages_are_named(fresh):
    lists = fresh / "etc/apt/sources.list"
    before = lists.read_text()
    lists.write_text("deb file:/nonexistent bookworm main\n")
    done = fresh.run("/pushwake/scripts/make/setup.sh", check=False)
    lists.write_text(before)
    assert done.returncode == 1 and "setup: apt-get could not install" in done.stderr and "kamailio" in done.stderr
    assert not (fresh / POLICY).exists()


def test_building_needs_no_test_tools_and_starts_no_kamailio(fresh):
    fresh.run("/pushwake/scripts/make/setup.sh")
    assert installed(fresh, "kamailio", "gcc", "libssl-dev") == {"kamailio", "gcc", "libssl-dev"}
    assert installed(fresh, "sip-tester", "python3-pytest", "debootstrap", "debhelper", "kamailio-tls-modules") == set()
    assert fresh.processes() == []
    assert not (fresh / POLICY).exists()


def test_the_policy_of_the_host_comes_back(fresh):
    policy = fresh / POLICY
    policy.write_text("#!/bin/sh\n# the host's own\nexit 0\n")
    policy.chmod(0o755)
    fresh.run("/pushwake/scripts/make/setup.sh", "--packages")
    assert "debhelper" in installed(fresh, "debhelper")
    assert "the host's own" in policy.read_text()
    assert not (fresh / (POLICY + ".before-pushwake")).exists()


def test_an_option_that_is_none_is_named():
    done = subprocess.run([ROOT / "scripts/make/setup.sh", "--all"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no option --all" in done.stderr


def test_deb_says_what_is_missing(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    done = subprocess.run([tmp_path / "scripts/make/deb.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run make build" in done.stderr or "run scripts/make/setup.sh --packages" in done.stderr


def test_what_swift_makes_is_asked_for_where_there_is_none(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    done = subprocess.run(["make", "-s", "build-swift", "PREBUILT=1"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "run make build where Swift is" in done.stdout


@pytest.fixture
def copied(tmp_path):
    """A copy of this tree with what `make build` has made, and a Swift that compiles nothing."""
    for name in ("Sources", "include", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Package.swift", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".build/stage", tmp_path / ".build/stage", symlinks=True)
    swift = tmp_path / "swift"
    swift.write_text('#!/bin/sh\n[ "$1" != build ] && exec swift "$@"\necho "compiles $*" >&2\nexit 1\n')
    swift.chmod(0o755)
    version, epoch, _ = (tmp_path / ".build/stage/release").read_text().split()

    def build():
        return subprocess.run([tmp_path / "scripts/make/build-swift.sh"], capture_output=True, text=True, check=False, env=os.environ | {
            "SWIFT": str(swift), "PUSHWAKE_VERSION": version, "SOURCE_DATE_EPOCH": epoch})
    return tmp_path, build


def test_a_copied_tree_compiles_nothing_anew(copied):
    _, build = copied
    done = build()
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("name", ["Sources/PushWakeCore/SIP/FeatureCaps.swift", "include/pushwake.h", "Package.swift"])
def test_what_has_changed_is_compiled(copied, name):
    tree, build = copied
    with (tree / name).open("a") as file:
        file.write("\n")
    done = build()
    assert done.returncode == 1 and "compiles build -c release" in done.stderr
