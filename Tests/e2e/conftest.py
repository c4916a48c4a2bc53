# SPDX-License-Identifier: MIT
"""Real Kamailio, real SIPp, the provider simulator. No test needs root or a fixed port."""

import pathlib

import pytest

from peers.valkey import Valkey
from phones import Caller, Phone, rfc8599_fcm
from schedule import ALONE, arrange
from servers import CALLS, NODES, Engine, Kamailio, Simulator
from wire_caller import WireCaller
from wire_phone import WirePhone


def pytest_configure(config):
    config.addinivalue_line("markers", ALONE)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups
def pytest_collection_modifyitems(config, items):
    arrange(config, items)


@pytest.fixture(scope="session")
def simulator(tmp_path_factory):
    simulator = Simulator(tmp_path_factory.mktemp("simulator"))
    simulator.start()
    yield simulator
    simulator.stop()


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    """A Kamailio that the tests of one file share; each test takes its own users."""
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator)
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


@pytest.fixture
def make_kamailio(tmp_path, simulator):
    """A Kamailio of the test's own: settings differ, or it will be killed."""
    started = []

    def make(provider=None, **options):
        run = tmp_path / f"kamailio-{len(started)}"
        run.mkdir()
        kamailio = Kamailio(run, provider or simulator, **options)
        started.append(kamailio)
        return kamailio

    yield make
    for kamailio in started:
        kamailio.stop()


@pytest.fixture(scope="module")
def make_server(tmp_path_factory, simulator):
    """Kamailios with calls.cfg that the tests of one file share."""
    started = []

    def make(provider=None, config=None, **options):
        server = Kamailio(tmp_path_factory.mktemp("server"), provider or simulator, config=config or CALLS.read_text(),
                          **options)
        started.append(server)
        return server.start().wait_engine()

    yield make
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def make_provider(tmp_path_factory):
    """A simulator that plays the same rules for all tests of a file."""
    started = []

    def make(*rules):
        started.append(Simulator(tmp_path_factory.mktemp("provider"), {"rules": list(rules)}))
        started[-1].start()
        return started[-1]

    yield make
    for provider in started:
        provider.stop()


@pytest.fixture
def make_valkey(tmp_path):
    """Servers that nodes share."""
    started = []

    def make(*arguments, **options):
        run = tmp_path / f"valkey-{len(started)}"
        run.mkdir()
        started.append(Valkey(run, *arguments, **options))
        return started[-1].start()

    yield make
    for valkey in started:
        valkey.stop()


@pytest.fixture
def make_node(make_kamailio):
    """A Kamailio that shares its bindings with others; it has a location table of its own."""
    # A busy machine takes longer than usual, and a REGISTER that is not stored at once promises no push.
    times = {"engine_timeout": 1000}

    def make(valkey, *, is_connected=True, **settings):
        node = make_kamailio(config=NODES.read_text(), wake_timeout=settings.pop("wake_timeout", 8))
        node.set_up(**{"store": valkey.url, **times, "node_uri": f"sip:127.0.0.1:{node.port}", **settings})
        node.start().wait_engine()
        if is_connected:
            node.wait_log("store: ", "connected")
        return node

    return make


@pytest.fixture
def make_simulator(tmp_path):
    """A simulator of the test's own, which plays a script."""
    started = []

    def make(script=None, arguments=()):
        run = tmp_path / f"simulator-{len(started)}"
        run.mkdir()
        started.append(Simulator(run, script, arguments))
        started[-1].start()
        return started[-1]

    yield make
    for simulator in started:
        simulator.stop()


@pytest.fixture
def make_engine(tmp_path, simulator):
    """An engine without any PBX, with the shared simulator unless told otherwise."""
    started = []

    def make(provider=None, **settings):
        run = tmp_path / f"engine-{len(started)}"
        run.mkdir()
        engine = Engine(run, provider or simulator, settings)
        started.append(engine)
        return engine

    yield make
    for engine in started:
        engine.stop()


@pytest.fixture
def actors(tmp_path, simulator):
    """Makes phones and callers, and ends what is left of them."""
    made = []

    class Actors:
        def call(self, server, user, scenario, *, tcp=False, **options):
            caller = Caller(server, user, tmp_path, tcp).start(scenario, **options)
            made.append(caller)
            return caller

        def phone(self, server, user, push, **options):
            phone = Phone(server, user, push, tmp_path, simulator, **options)
            made.append(phone)
            return phone

        def answered(self, server, user, push):
            """The phone of a call that has woken it and was answered and ended."""
            phone = self.phone(server, user, push)
            phone.register()
            caller = self.call(server, user, "call")
            phone.wait_and_wake()
            caller.finish()
            return phone

        @property
        def transcripts(self):
            return "\n".join(actor.transcript() for actor in made)

    yield Actors()
    for actor in made:
        actor.stop()


@pytest.fixture
def wire():
    """Makes phones and callers on sockets of their own, and ends them."""
    made = []

    class Wire:
        def phone(self, server, user, transport="udp", push=None, **options):
            return self.keep(WirePhone(server, user, transport, push, **options))

        def keep(self, actor):
            """One that the test has made, to be ended."""
            made.append(actor)
            return actor

        def again(self, phone, transport=None, **options):
            made.append(phone.again(transport, **options))
            return made[-1]

        def wake(self, phone, *answers):
            """A pushed phone registers and is rung at once: what its caller's script has opened must not make that wait."""
            woken = self.again(phone)
            woken.answers["INVITE"] = answers or (180, 200)
            registered = woken.register()
            assert woken.wait_request("INVITE").at - registered.at < 1
            return woken

        def caller(self, server, transport="udp", **options):
            made.append(WireCaller(server, transport, **options))
            return made[-1]

        def call(self, server, user, *extra, transport="udp", **options):
            return self.caller(server, transport).call(user, *extra, **options)

    yield Wire()
    for actor in made:
        actor.stop()


@pytest.fixture
def asleep(server, wire):
    """A phone that sleeps and can be pushed, at the server of the file."""
    def make(user, push=rfc8599_fcm):
        phone = wire.phone(server, user, "udp", push())
        phone.register()
        phone.sleep()
        return phone

    return make


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the end of every log it wrote, and what its phones and callers saw."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for kamailio in Kamailio.running:
            report.sections.append((f"Kamailio {kamailio.port}", kamailio.tail()))
        if "actors" in item.funcargs:
            report.sections.append(("phones and callers", item.funcargs["actors"].transcripts))


def pytest_report_header():
    from servers import LIBRARY, MODULE, PUSHWAKE

    return [f"pushwake: {PUSHWAKE}, {LIBRARY}, {MODULE}", f"scenarios: {pathlib.Path(__file__).parent / 'sipp'}"]
