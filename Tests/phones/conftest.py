# SPDX-License-Identifier: MIT
"""Real phones before a real Kamailio or Asterisk: PJSIP, Linphone and baresip."""

import itertools
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "stacks"), str(HERE / "proxies"), str(HERE.parent / "e2e")]
sys.path.append(str(HERE.parent / "e2e-asterisk"))

from baresip import Baresip  # noqa: E402
from linphone import Linphone  # noqa: E402
from pjsip import PJSIP  # noqa: E402
from proxy import Proxy  # noqa: E402
from servers import LIBRARY, MODULE, PUSHWAKE, Simulator  # noqa: E402

# Tokens that begin so get these answers.
SCRIPT = {"rules": [{"token": "forbidden*", "status": 403}, {"token": "broken*", "status": 500}]}
NOBODY_LISTENS = "https://127.0.0.1:1"


@pytest.fixture(scope="session")
def simulator(tmp_path_factory):
    simulator = Simulator(tmp_path_factory.mktemp("simulator"), SCRIPT)
    simulator.start()
    yield simulator
    simulator.stop()


@pytest.fixture(scope="session")
def proxy(tmp_path_factory, simulator):
    """The Kamailio that all tests share; each takes its own users. Apple's sandbox cannot be reached."""
    proxy = Proxy(tmp_path_factory.mktemp("proxy"), simulator, {"apns_sandbox_url": NOBODY_LISTENS})
    proxy.start().wait_engine()
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def make_shared_proxy(tmp_path_factory, simulator):
    """Makes a Kamailio for one file."""
    started = []

    def make(**options):
        started.append(Proxy(tmp_path_factory.mktemp("proxy"), simulator, **options))
        started[-1].start().wait_engine()
        return started[-1]

    yield make
    for proxy in started:
        proxy.stop()


NUMBERS = itertools.count(1)


@pytest.fixture
def user(request):
    """A name that no other test has."""
    request.node.user = f"user{next(NUMBERS)}"
    return request.node.user


@pytest.fixture
def phones(tmp_path, simulator, proxy):
    """Makes phones, and ends what is left of them."""
    made = []

    class Phones:
        def make(self, stack, user, **options):
            phone = stack(options.pop("proxy", proxy), user, tmp_path, simulator, **options)
            made.append(phone)
            return phone

        def caller(self, stack=PJSIP, **options):
            """A phone that is awake, to call from."""
            return self.make(stack, f"caller{next(NUMBERS)}", **options).start().registered()

    yield Phones()
    for phone in made:
        phone.kill()


STACKS = [PJSIP, Linphone, Baresip]


def pytest_generate_tests(metafunc):
    if "stack" in metafunc.fixturenames:
        metafunc.parametrize("stack", STACKS, ids=lambda stack: stack.stack)


def pytest_runtest_setup(item):
    item.logs_before = {proxy: len(proxy.log_text()) for proxy in Proxy.running}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows what its Kamailio wrote meanwhile, and what became of the user's requests."""
    report = (yield).get_result()
    if not report.failed:
        return
    for proxy in Proxy.running:
        written = proxy.log_text()[item.logs_before.get(proxy, 0):]
        # One that began meanwhile says much, but nothing of a call.
        if "BRANCH" in written or proxy in item.logs_before and written:
            report.sections.append((f"Kamailio {proxy.port}", written[-5000:]))
            report.sections.append(("pushwake trace", proxy.transcript(getattr(item, "user", ""))))


def pytest_report_header():
    return [f"pushwake: {PUSHWAKE}, {LIBRARY}, {MODULE}"]
