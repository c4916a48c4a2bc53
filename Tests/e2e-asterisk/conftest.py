# SPDX-License-Identifier: MIT
"""Real Asterisk 22 in a chroot, the provider simulator, and phones that a test steers."""

import fcntl
import itertools
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "Tests" / "e2e")]

from asterisk_server import SANITIZED, Asterisk, ChrootSimulator  # noqa: E402
from schedule import ALONE, arrange  # noqa: E402
from sip_phone import Phone  # noqa: E402
from sleeper import Frozen, Sleeper  # noqa: E402
from workplace import Workplace  # noqa: E402

# A dialplan that calls PushWake(), of docs/asterisk-pushwake.md; beside it plain Dial() wakes phones as well.
SAMPLE = ROOT / "asterisk-glue" / "extensions_pushwake.conf.sample"
USERS = [str(number) for number in range(100, 160)]


def pytest_configure(config):
    config.addinivalue_line("markers", ALONE)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups
def pytest_collection_modifyitems(config, items):
    arrange(config, items)


@pytest.fixture(scope="session")
def chroot():
    """The Debian sid with Asterisk, made by the first run and kept."""
    script = ROOT / "scripts/chroot/asterisk-chroot.sh"
    path = subprocess.run([script], check=True, capture_output=True, text=True).stdout.strip()
    return pathlib.Path(path).resolve()


@pytest.fixture(scope="session")
def workplace(chroot):
    workplace = Workplace(chroot)
    yield workplace
    workplace.remove()


@pytest.fixture(scope="session")
def module(chroot):
    """res_pushwake.so, built for that Asterisk."""
    if SANITIZED:
        build(chroot, "OUT=build/sanitized", "CFLAGS=-O1 -g -fno-omit-frame-pointer -fsanitize=address", "LDFLAGS=-fsanitize=address")
        return ROOT / "asterisk-glue" / "build" / "sanitized" / "res_pushwake.so"
    build(chroot)
    return ROOT / "asterisk-glue" / "build" / "res_pushwake.so"


def build(chroot, *options):
    command = ["make", "--no-print-directory", "-C", ROOT / "asterisk-glue", f"ASTERISK_ROOT={chroot}", *options]
    with open(ROOT / "asterisk-glue" / "Makefile") as made:  # others may want the same
        fcntl.flock(made, fcntl.LOCK_EX)
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def simulator(workplace):
    simulator = ChrootSimulator(workplace)
    simulator.start()
    yield simulator
    simulator.stop()


@pytest.fixture(scope="session")
def make_session_asterisk(workplace, module, simulator):
    made = []

    def make(name, extensions=None, settings=None, users=USERS, start=True):
        asterisk = Asterisk(workplace, name, module)
        made.append(asterisk)
        for user in users:
            asterisk.add_phone(user)
        asterisk.write("extensions.conf", extensions or SAMPLE.read_text())
        asterisk.settings(**{**simulator.settings(), "wake_timeout": 3, **(settings or {})})
        if start:
            asterisk.start()
            asterisk.wait_engine()
        return asterisk

    yield make
    for asterisk in made:
        asterisk.stop()


@pytest.fixture(scope="module")
def asterisk(request, make_session_asterisk):
    """One Asterisk for the tests of a file; each test takes users of its own."""
    made = make_session_asterisk(request.module.__name__)
    yield made
    made.stop()


@pytest.fixture
def make_asterisk(request, make_session_asterisk):
    """An Asterisk of the test's own: other settings, or it comes to harm."""
    made = []

    def make(**options):
        asterisk = make_session_asterisk(f"{request.node.name.split('[')[0]}-{len(made)}", **options)
        made.append(asterisk)
        return asterisk

    yield make
    for asterisk in made:
        asterisk.stop()


_numbers = {}


@pytest.fixture
def user(request):
    """An AoR that no other test of this file uses."""
    return USERS[next(_numbers.setdefault(request.module.__name__, itertools.count()))]


another_user = user


@pytest.fixture
def phones(request):
    """Makes phones and closes what is left of them."""
    made = []

    def make(*arguments, **options):
        made.append(Phone(*arguments, **options))
        return made[-1]

    yield make
    for phone in made:
        phone.close()


@pytest.fixture
def sleeper(phones, asterisk, simulator, user):
    """Makes phones of this test's user that sleep, of another user or server when it is named."""

    def make(*arguments, at=None, of=None, **options):
        return Sleeper(phones, at or asterisk, simulator, of or user, *arguments, **options)

    return make


@pytest.fixture
def frozen(phones, asterisk, simulator, user):
    """The same, of phones that do not read from an open connection."""

    def make(*arguments, at=None, of=None, **options):
        return Frozen(phones, at or asterisk, simulator, of or user, *arguments, **options)

    return make


@pytest.fixture
def desk(phones, asterisk, user):
    """A phone of this test's user that is awake, and has no push."""
    phone = phones(user, asterisk.address)
    assert phone.register().status == 200
    return phone


@pytest.fixture
def caller(phones, asterisk):
    return phones("caller", asterisk.address)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the end of Asterisk's log."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for server in Asterisk.running:
            report.sections.append((f"Asterisk {server.at}", "\n".join(server.log().splitlines()[-60:])))
