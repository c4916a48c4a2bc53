# SPDX-License-Identifier: MIT
"""A day of mistakes: 2,000 phones, and everything that operators, proxies and providers do wrong, one after another. After
each is put right every phone still rings, and what was really dead is gone."""

import contextlib
import http.client
import itertools
import json
import pathlib
import shutil
import sqlite3
import ssl
import subprocess
import threading
import urllib.request

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from peers.fleet import Caller, Fleet, Phone
from peers.http_client import TOKEN
from ports import free_port
from servers import ENGINE_TIMEOUT, Simulator, change, wait_until

REPORTED_AGAIN = False
"""Phones that register while the disk is full are reported once more when there is room again."""

APNS, FCM, WEB, HOOK = 900, 600, 300, 200
DEAD_EACH = 10
WAKE_TIMEOUT = 3
PAGE = "<html><head><title>403 Forbidden</title></head><body>Request blocked. Incident 17.</body></html>"


def made_phones(simulator):
    """By provider; the last ones of each die during the day."""
    def phones(kind, count, token, push):
        made = [Phone(f"{kind}{n}", token(n), "") for n in range(count)]
        for number, phone in enumerate(made):
            phone.dead = number >= count - DEAD_EACH
            phone.push = push.replace("@", phone.token)
        return made

    def hexadecimal(n, last):
        return f"{'dead' if n >= last - DEAD_EACH else 'beef'}{n:060x}"

    def text(kind, n, last):
        return f"{'dying' if n >= last - DEAD_EACH else 'living'}-{kind}-{n:05}-{'x' * 24}"

    return (
        phones("apple", APNS, lambda n: hexadecimal(n, APNS),
               ";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@")
        + phones("droid", FCM, lambda n: text("fcm", n, FCM) + ":APA91b",
                 ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@")
        + phones("web", WEB, lambda n: text("web", n, WEB), f";pn-provider=webpush;pn-prid={simulator.url}/push/@")
        + phones("hook", HOOK, lambda n: text("hook", n, HOOK), ";pn-provider=hook;pn-param=com.example.hook;pn-prid=@"))


class Disk:
    """A small file system of its own for the store; none where this process may not mount."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.is_mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path], check=False,
                                         stderr=subprocess.DEVNULL).returncode == 0

    @contextlib.contextmanager
    def full(self):
        filler = self.path / "filler"
        # What the log has set aside would do for a while.
        with contextlib.closing(sqlite3.connect(self.path / "bindings.db")) as store:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        try:
            yield
        finally:
            filler.unlink()

    def end(self):
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.path], check=False)


class Day:
    """The engine, the SIP server, the providers, and all who use them."""

    def __init__(self, tmp_path, disk, simulator, make_engine, make_kamailio):
        self.simulator, self.disk = simulator, disk
        self.port = free_port()
        token = tmp_path / "http-token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        files = simulator.directory / "files"
        self.engine = make_engine(simulator, **{
            **simulator.settings(), "store_path": self.disk.path / "bindings.db", "wake_timeout": WAKE_TIMEOUT,
            "http_listen": self.port, "http_token_file": token, "http_rate": 100_000,
            "vapid_key": files / "vapid.pem", "vapid_subject": "mailto:ops@example.com", "webpush_hosts": "127.0.0.1",
            "webhook_url": f"{simulator.url}/webhook/$token", "webhook_providers": "hook",
            "webhook_secret_file": files / "webhook.secret",
            "device_pushes": 0, "caller_pushes": 0, "aor_pushes": 0})
        # All of them are called within a few seconds, and tm keeps what is over for five.
        self.kamailio = make_kamailio(wake_timeout=WAKE_TIMEOUT, arguments=("-m", "256"), settings={
            "engine_mode": "external", "engine_socket": str(self.engine.settings.parent / "engine.sock"),
            "engine_timeout": ENGINE_TIMEOUT, "device_pushes": 0, "caller_pushes": 0, "aor_pushes": 0})
        self.kamailio.start().wait_engine()
        phones = made_phones(simulator)
        self.fleet, self.caller = Fleet(self.kamailio, phones, simulator), Caller(self.kamailio)

    def users(self, kind="", dead=False):
        return [user for user, phone in self.fleet.phones.items() if user.startswith(kind) and phone.dead == dead]

    # The providers

    def play(self, *rules):
        """What the providers do wrong from now on."""
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        request = urllib.request.Request(f"{self.simulator.url}/_simulator/script", json.dumps({"rules": rules}).encode())
        urllib.request.urlopen(request, context=context, timeout=10).close()

    def reload(self, *removed, **values):
        """The operator's settings."""
        change(self.engine, *removed, **values)
        assert self.engine.run("reload").returncode == 0

    # Calls

    def send(self, users):
        """A push for a call to each of these, as a program of the operator's sends them; counts their outcomes."""
        outcomes, lock, left = {}, threading.Lock(), list(users)

        def work():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            while True:
                with lock:
                    if not left:
                        return connection.close()
                    user = left.pop()
                connection.request("POST", "/v1/send", json.dumps({"aor": user, "event": "call", "timeout": 5}), {
                    "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
                answer = json.loads(connection.getresponse().read())
                with lock:
                    for row in answer.get("results", []):
                        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1

        workers = [threading.Thread(target=work) for _ in range(12)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return outcomes

    def bound(self):
        """Users with a binding."""
        done = self.engine.run("bindings", "export")
        assert done.returncode == 0, done.stderr
        return {json.loads(line)["aor"] for line in done.stdout.splitlines()}

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        with contextlib.closing(connection):
            return connection.getresponse().read().decode()

    def health(self):
        return json.loads(self.get("/healthz"))

    def put_right(self, what, kind):
        """Nobody is lost, and all of them ring again: some for real, the others' pushes are taken."""
        users = self.users(kind)
        lost = set(users) - self.bound()
        assert not lost, f"{what}: {len(lost)} of {len(users)} are gone"
        accepted = self.send(users)
        assert accepted == {"accepted": len(users)}, what
        sample = users[::max(1, len(users) // 25)]
        assert self.fleet.call_all(self.caller, sample) == {}, what
        wait_until(f"{what}: all is well", lambda: self.health()["status"] == "ok")

    @contextlib.contextmanager
    def steady(self, *kinds):
        """Users of these are called all the time, and each call rings."""
        users = itertools.cycle(sum((self.users(kind)[::9] for kind in kinds), []))
        is_over, failed, count = threading.Event(), {}, itertools.count()
        caller = Caller(self.kamailio)

        def work():
            while not is_over.wait(0.05):
                next(count)
                failed.update(self.fleet.call_all(caller, [next(users)], seconds=20))

        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            is_over.set()
            worker.join()
            caller.close()
        assert failed == {} and next(count) > 10

    def refused(self, kind):
        """This provider alone calls most tokens bad: whoever watches the engine sees it."""
        found = {name for name, state in self.health()["providers"].items() if state == "tokens-refused"}
        assert found == {kind}
        assert f'pushwake_provider_tokens_refused{{provider="{kind}"}} 1' in self.get("/metrics")

    def end(self):
        self.fleet.close()
        self.caller.close()


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "store")
    yield disk
    disk.end()


@pytest.fixture
def day(tmp_path, disk, make_simulator, make_engine, make_kamailio):
    day = Day(tmp_path, disk, make_simulator(), make_engine, make_kamailio)
    yield day
    day.end()


@pytest.fixture
def sandbox(tmp_path, day):
    """Apple's other environment, with the same keys: it knows none of these tokens."""
    place = tmp_path / "sandbox"
    shutil.copytree(day.simulator.directory / "files", place / "files")
    simulator = Simulator(place, {"rules": [{"provider": "apns", "reason": "BadDeviceToken"}]})
    simulator.start()
    yield simulator
    simulator.stop()


def another_key(path):
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))
    return path


# What was really dead, from the third mistake on.
DEAD = [{"provider": "apns", "token": "dead*", "reason": "Unregistered"},
        {"provider": "fcm", "token": "dying*", "reason": "UNREGISTERED"},
        {"provider": "webpush", "token": "dying*", "status": 410},
        {"provider": "webhook", "token": "dying*", "status": 410}]
OTHER_PROJECT = {"provider": "fcm", "reason": "SENDER_ID_MISMATCH"}
UNKNOWN_PROJECT = {"provider": "fcm", "reason": "UNREGISTERED"}


def mixed(day):
    """Those who are dead, each among some others as on any day."""
    users = []
    for kind in ("apple", "droid", "web", "hook"):
        others = iter(day.users(kind))
        users += [user for dead in day.users(kind, dead=True) for user in [dead, *itertools.islice(others, 6)]]
    return users


def answers(provider, status, body):
    return {"provider": provider, "status": status, "headers": {"content-type": "text/html"}, "body": body}


def wrong_environment(day, sandbox):
    """By a reload: Apple knows no token any more."""
    day.reload(apns_environment="sandbox", apns_sandbox_url=sandbox.url)
    assert day.send(day.users("apple")) == {"token-gone": APNS - DEAD_EACH}
    day.refused("apns")
    assert "check apns_environment, apns_topic" in day.engine.text()
    day.reload(apns_environment="production", apns_sandbox_url=day.simulator.url)
    day.put_right("wrong environment", "apple")


def revoked_key(day, directory):
    key = pathlib.Path(day.simulator.settings()["apns_key"])
    day.reload(apns_key=another_key(directory / key.name))
    assert day.send(day.users("apple")) == {"misconfigured": APNS - DEAD_EACH}
    day.reload(apns_key=key)
    day.put_right("revoked key", "apple")


def wrong_topic(day):
    day.reload(apns_topic="packagename")
    assert "accepted" not in day.send(day.users("apple"))
    day.reload(apns_topic="set")
    day.put_right("wrong topic", "apple")


def something_in_front(day):
    """A firewall before the push service, then a proxy that has lost it, with words of its own and without."""
    for what, *rules in (
            ("firewall", answers("webpush", 403, PAGE)), ("empty 403", answers("webpush", 403, "")),
            ("redeploy", answers("webpush", 404, "404 page not found\n"), answers("webhook", 404, "404 page not found\n")),
            ("404 without a word", answers("webpush", 404, ""))):
        day.play(*DEAD, *rules)
        assert "accepted" not in day.send(day.users("web"))
        if len(rules) > 1:
            assert "accepted" not in day.send(day.users("hook"))
        day.play(*DEAD)
        day.put_right(what, "web")
    day.put_right("redeploy", "hook")


def another_project(day):
    """The key of one, and then of one that no phone is registered with."""
    for what, rule in (("project mismatch", OTHER_PROJECT), ("unknown project", UNKNOWN_PROJECT)):
        day.play(*DEAD, rule)
        assert day.send(day.users("droid")) == {"token-gone": FCM - DEAD_EACH}
        day.refused("fcm")
        day.play(*DEAD)
        day.put_right(what, "droid")


def full_disk(day):
    """Who is known still rings, and who registers meanwhile rings as soon as there is room again."""
    newcomers = {f"new{n}": Phone(f"new{n}", f"newcomer-{n:05}-{'x' * 24}:APA91b", "") for n in range(80)}
    for phone in newcomers.values():
        phone.push = f";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={phone.token}"
    day.fleet.add(newcomers.values())
    with day.disk.full():
        wait_until("nothing can be stored", lambda: day.fleet.register(newcomers) < len(newcomers))
        assert day.fleet.call_all(day.caller, day.users("droid")[::20]) == {}
    day.put_right("full disk", "droid")
    if REPORTED_AGAIN:
        wait_until("all are known", lambda: set(newcomers) <= day.bound(), 45)
        assert day.fleet.call_all(day.caller, newcomers) == {}
    day.fleet.remove(newcomers)


def flight_mode(day):
    """Two hundred phones are off, and their callers dial again and again."""
    off = day.users("droid")[:200]
    for _ in range(2):
        calls = []
        for begin in range(0, len(off), 50):
            some = [day.caller.invite(user) for user in off[begin:begin + 50] for _ in range(3)]
            day.caller.wait_heard(some, 10)
            calls += some
        assert set(day.caller.finals(calls, 30)) == {480}
    day.put_right("flight mode", "droid")


@pytest.mark.timeout(300)
def test_a_day_of_mistakes_costs_nobody_a_call(day, sandbox, tmp_path):
    everybody = list(day.fleet.phones)
    day.fleet.register(everybody)
    assert day.send(everybody) == {"accepted": len(everybody)}
    with day.steady("droid", "web", "hook"):
        wrong_environment(day, sandbox)
        revoked_key(day, tmp_path)
        # From now on phones die.
        day.play(*DEAD)
        wrong_topic(day)
    with day.steady("apple", "droid"):
        something_in_front(day)
    with day.steady("apple", "web", "hook"):
        another_project(day)
        if day.disk.is_mounted:
            full_disk(day)
        flight_mode(day)
    wait_until("the dead are gone", lambda: day.send(mixed(day)) and not day.bound().intersection(day.users(dead=True)), 40, 1)
    assert day.bound().intersection(everybody) == set(day.users())
    assert day.fleet.call_all(day.caller, day.users()) == {}
