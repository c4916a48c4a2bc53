# SPDX-License-Identifier: MIT
"""Web Push services of one user who means harm (`webpush_hosts=*`), and the pushes of all others."""

import time
import uuid

import pytest

from engine_client import EngineClient
from peers.hostile_service import FRAMES, HostileServices
from phones import apns_token
from servers import Engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory, simulator):
    files = simulator.directory / "files"
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("apns_key")}
    run = tmp_path_factory.mktemp("engine")
    engine = Engine(run, simulator, keys | {
        "apns_team_id": "DEF123GHIJ", "vapid_key": files / "vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1", "log_level": "info"})
    engine.socket = run / "engine.sock"
    yield engine
    engine.stop()


@pytest.fixture
def services(simulator):
    made = []

    def make(*kinds, deaf=0):
        made.append(HostileServices(simulator.directory / "files", kinds, deaf))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def client(engine):
    client = EngineClient(engine.socket)
    yield client
    client.close()


def browser(client, service):
    """Asks for a push to a subscription of its own."""
    token = uuid.uuid4().hex
    client.send("webpush", "", f"{service}/push/{token}")
    return token


def pushes(client, seconds):
    """How many pushes of others go through within so many seconds, one after the other."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        client.send("apns", "com.example.phone", apns_token())
        ended = client.take(seconds)
        assert [push.outcome for push in ended] in ([], ["accepted"]), ended
        count += len(ended)
    return count


@pytest.mark.alone
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_without_end_take_little_time_from_others(engine, client, services, kind):
    usually = pushes(client, 0.5)
    other = EngineClient(engine.socket)
    for service in services(kind, kind, kind, kind).talking:
        browser(other, service)
    beside = pushes(client, 1)
    other.close()
    assert beside >= usually / 2, f"{beside} pushes in one second, otherwise {usually} in half of one"


def test_a_first_push_waits_while_as_many_services_as_may_be_tried_are_dead(engine, services, simulator):
    client = EngineClient(engine.socket)
    for service in services(deaf=150).deaf:
        browser(client, service)
    token = browser(client, simulator.url)
    simulator.wait_push(token, 10)
    client.close()


def test_a_service_that_has_answered_keeps_its_place(engine, services, simulator):
    client = EngineClient(engine.socket)
    before = simulator.wait_push(browser(client, simulator.url), 10)["connection"]
    client.take()
    for service in services(deaf=150).deaf:
        browser(client, service)
    again = simulator.wait_push(browser(client, simulator.url), 10)
    assert again["connection"] == before
    client.close()
