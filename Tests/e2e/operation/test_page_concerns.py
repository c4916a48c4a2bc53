# SPDX-License-Identifier: MIT
"""What needs attention: each trouble is brought about, the overview names it with what to do, and it goes with its cause."""

import contextlib
import errno
import html
import re
import subprocess

import pytest

from peers.http_client import listen, served
from phones import apns_token, rfc8599_fcm
from servers import CALLS, Simulator, wait_until
from test_breakages import certificate


@pytest.fixture
def start(make_engine, tmp_path):
    """An engine with Apple's key, and what speaks to it."""
    def make(provider, **settings):
        keys = {name: value for name, value in provider.settings().items() if name.startswith("apns_key") or name == "apns_team_id"}
        return listen(make_engine, tmp_path, provider=provider, **{**keys, **settings})

    return make


def bind(client, *users):
    """Tokens of Apple's, by their beginning."""
    for user, beginning in users:
        token = (beginning + apns_token())[:64]
        answer = client.curl("/v1/bindings", "-d", f"aor={user}&provider=apns&app=com.example.phone&token={token}")
        assert answer.status == 200, answer.body


def concerns(client):
    """What the overview says first: text, remedy and link of each."""
    body = client.curl("/").body
    first = body[body.index("Needs attention"):body.index("<h2>Now")]
    found = re.findall(r"<li[^>]*><b>(?:<a href=\"([^\"]*)\">)?(.*?)(?:</a>)?</b><br>Do: (.*?)</li>", first)
    assert bool(found) != ("Nothing." in first)
    return [(html.unescape(text), html.unescape(remedy), link) for link, text, remedy in found]


NO_APPLE = dict.fromkeys(("apns_key", "apns_key_id", "apns_team_id"), "")


# Each gives a client, a part of the text, of the remedy and the link; after that it takes the cause away.

def no_push_service(make):
    engine, client = make.start(make.simulator, **NO_APPLE)
    yield client, "no push service is set up", "set apns_key", ""
    engine.stop()
    make.start(make.simulator, http_listen=client.port)


def out_of_reach(make, name, **settings):
    provider = Simulator(make.directory)
    provider.start()
    provider.stop()
    made = provider.settings()
    _, client = make.start(provider, **{setting: made.get(value, value) for setting, value in settings.items()})
    yield client, f"{name} is unreachable: connect to 127.0.0.1", "nothing listens there", ""
    provider.start()
    make.stack.callback(provider.stop)


def apple_out_of_reach(make):
    return out_of_reach(make, "apns")


def google_out_of_reach(make):
    return out_of_reach(make, "fcm", **NO_APPLE, fcm_key="fcm_key", fcm_url="fcm_url")


def a_certificate_that_ends(make):
    directory = certificate(make.directory / "tls", days=2)
    pem = directory / "both.pem"
    def put():
        pem.write_bytes((directory / "server.pem").read_bytes() + (directory / "server.key").read_bytes())
    put()
    _, client = make.start(make.simulator, http_cert=pem)
    yield client, "the certificate http_cert ends in ", "put a new one in its place", ""
    certificate(directory, days=90)
    put()


def tokens_that_all_are_bad(make):
    provider = Simulator(make.directory, {"rules": [
        {"provider": "apns", "token": "bad*", "reason": "BadDeviceToken", "count": 12}]})
    provider.start()
    make.stack.callback(provider.stop)
    engine, client = make.start(provider)
    bind(client, *((f"bob{number}", f"bad{number:03x}") for number in range(12)))
    push = lambda: [engine.run("send", "call", f"bob{number}", "--timeout", "5") for number in range(12)]
    push()
    yield client, "apns calls most tokens of com.example.phone bad; none is removed", "check apns_environment", ""
    push()


def phones_that_go(make):
    before, client = make.start(make.simulator)
    bind(client, *((f"bob{number}", f"{number:03x}") for number in range(20)))
    before.stop()
    # It counts from its start.
    engine, client = make.start(make.simulator, store_path=before.log.parent / "bindings.db")
    for number in range(10):
        assert engine.run("bindings", "remove", f"bob{number}").returncode == 0
    yield client, "10 of 20 phones have gone", "pushwake restore", "/phones"
    bind(client, *((f"bob{number}", f"{number:03x}") for number in range(10)))


def a_full_disk(make):
    disk = make.directory / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "pushwake-test", disk], check=False).returncode != 0:
        pytest.skip("only root makes a disk of its own")
    make.stack.callback(subprocess.run, ["umount", "-l", disk], check=True)
    _, client = make.start(make.simulator, store_path=disk / "bindings.db")
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
    token = apns_token()
    client.curl("/v1/bindings", "-d", f"aor=bob&provider=apns&app=com.example.phone&token={token}")
    yield client, "bindings cannot be read or stored: ", "make room on the file system of store_path", ""
    (disk / "ballast").unlink()


def a_store_that_is_taken_away(make):
    engine, client = make.start(make.simulator)
    store = engine.log.parent / "bindings.db"
    store.rename(f"{store}.away")
    yield client, "the file of the store was taken away", "start the engine anew", ""
    store.with_name("bindings.db.away").rename(store)


CASES = [no_push_service, apple_out_of_reach, google_out_of_reach, a_certificate_that_ends, tokens_that_all_are_bad, phones_that_go, a_full_disk,
         a_store_that_is_taken_away]


class Stage:
    """Where troubles are brought about."""

    def __init__(self, start, simulator, directory, stack):
        self.start, self.simulator, self.directory, self.stack = start, simulator, directory, stack


@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])
def test_a_trouble_shows_with_its_remedy_and_goes_with_its_cause(start, simulator, tmp_path, case):
    with contextlib.ExitStack() as stack:
        place = tmp_path / "case"
        place.mkdir()
        trouble = case(Stage(start, simulator, place, stack))
        client, text, remedy, link = next(trouble)
        found = wait_until("the concern", lambda: concerns(client))
        assert [(text in said, remedy in do, to) for said, do, to in found] == [(True, True, link)], found
        next(trouble, None)
        wait_until("it to go", lambda: not concerns(client), 30)


def test_silent_phones_show_until_they_wake(make_kamailio, wire, simulator, tmp_path):
    settings, client = served(tmp_path)
    server = make_kamailio(config=CALLS.read_text(), wake_timeout=1, settings=settings).start().wait_engine()

    def sleeps_on(phone):
        for _ in range(3):
            wire.call(server, phone.user).wait_final(10)

    def wakes(phone):
        before = len(simulator.calls(phone.push.token))
        call = wire.call(server, phone.user)
        wait_until("the push", lambda: len(simulator.calls(phone.push.token)) > before)
        woken = wire.wake(phone)
        call.wait_status(200)
        call.hang_up()
        return woken.sleep()

    phones = [wire.phone(server, user, "tcp", rfc8599_fcm()) for user in ("stopped", "never")]
    for phone in phones:
        phone.register()
        phone.sleep()
    wakes(phones[0])
    for phone in phones:
        sleeps_on(phone)
    assert concerns(client) == [
        ("1 phone no longer wakes", "open one of them and see its last calls", "/phones?show=silent"),
        ("1 phone never woke", "open one of them and see its last calls", "/phones?show=never")]
    for place, user in (("silent", "stopped"), ("never", "never")):
        assert f">{user}</a>" in client.curl(f"/phones?show={place}").body
    for phone in phones:
        wakes(phone)
    wait_until("them to go", lambda: not concerns(client))
