# SPDX-License-Identifier: MIT
"""The Debian packages in fresh Debians: no compiler, no Swift, nothing of this tree.

`make test-packages` builds the packages first. PUSHWAKE_SUITES names the releases.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "Tests" / "e2e")]

from debian import DOMAIN, Debian, Repository, newer  # noqa: E402
from servers import Simulator  # noqa: E402
from wire_caller import WireCaller  # noqa: E402
from wire_phone import WirePhone  # noqa: E402

TIMES = []


@pytest.fixture(scope="session", params=os.environ.get("PUSHWAKE_SUITES", "bookworm trixie").split())
def suite(request):
    return request.param


@pytest.fixture(scope="session")
def packages(suite):
    """The packages that were built for this release, by name."""
    directory = ROOT / ".build" / f"deb-{suite}"
    found = {path.name.split("_")[0]: path for path in directory.glob("*.deb")}
    assert "libpushwake1" in found, f"{directory} has no packages: run make test-packages"
    return found


@pytest.fixture(scope="session")
def newer_packages(packages, tmp_path_factory):
    """The same as if a later release had made them."""
    directory = tmp_path_factory.mktemp("newer")
    return {name: newer(path, directory) for name, path in packages.items() if "dbgsym" not in name}


@pytest.fixture(scope="module")
def repository(suite, packages, tmp_path_factory):
    """A repository with the packages of this release."""
    directory = tmp_path_factory.mktemp("repository")
    # The user of apt reads it too.
    for path in (directory, *list(directory.parents)[:2]):
        path.chmod(0o755)
    made = Repository(directory, suite)
    made.add(packages)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def debian(suite):
    """A Debian that the tests of one file share."""
    made = Debian.make(suite)
    yield made
    made.remove()


@pytest.fixture(scope="session")
def simulator(tmp_path_factory):
    simulator = Simulator(tmp_path_factory.mktemp("simulator"))
    simulator.start()
    yield simulator
    simulator.stop()


@pytest.fixture(scope="module")
def place():
    """A directory that both this system and a Debian in a directory see, open to all of its users."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-packages-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def wire():
    """Makes phones and callers on sockets of their own, and ends them."""
    made = []

    class Wire:
        def phone(self, server, user, push):
            made.append(WirePhone(server, user, "udp", push, domain=DOMAIN))
            return made[-1]

        def again(self, phone):
            made.append(phone.again())
            return made[-1]

        def caller(self, server):
            made.append(WireCaller(server))
            return made[-1]

    yield Wire()
    for actor in made:
        actor.stop()


@pytest.fixture(scope="session")
def stopwatch():
    """Takes how long a step took, for the end of the run."""
    return lambda suite, step, seconds: TIMES.append((suite, step, seconds))


def pytest_terminal_summary(terminalreporter):
    for suite, step, seconds in TIMES:
        terminalreporter.write_line(f"{suite}: {step}: {seconds:.1f} s")


def pytest_sessionstart():
    if os.geteuid() != 0:
        pytest.exit("chroot needs root; run it with sudo", 1)
    for tool in ("lintian", "mandoc"):
        if subprocess.run(["which", tool], capture_output=True, check=False).returncode:
            pytest.exit(f"{tool} is missing: run scripts/make/setup.sh --test-packages", 1)
