# SPDX-License-Identifier: MIT
"""Many pushes through faults of a provider: none lost, none doubled, as the simulator counts them."""

import json
import ssl
import subprocess
import urllib.request

import pytest

from ports import free_port
from servers import PUSHWAKE

COUNT = 20_000


class BadDay:
    """A simulator that plays a script and writes no log."""

    def __init__(self, directory, script):
        self.files = directory / "files"
        (directory / "script.json").write_text(json.dumps(script))
        self.url = f"https://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [PUSHWAKE, "simulate", "--listen", self.url.removeprefix("https://"), "--dir", self.files, "--log", "/dev/null",
             "--script", directory / "script.json"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline(), "the simulator did not start"

    def load(self, count, concurrency, provider="apns", seconds=60):
        """What `pushwake load` said of its pushes."""
        done = subprocess.run(
            [PUSHWAKE, "load", "--provider", provider, "--url", self.url, "--dir", self.files, "--count", str(count),
             "--concurrency", str(concurrency), "--json"], capture_output=True, text=True, timeout=seconds, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def counters(self):
        """What the simulator counted."""
        context = ssl.create_default_context(cafile=self.files / "ca.pem")
        with urllib.request.urlopen(f"{self.url}/_simulator/counters", context=context, timeout=10) as answer:
            return json.load(answer)

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


@pytest.fixture
def many_pushes(tmp_path):
    made = []

    def make(script):
        made.append(BadDay(tmp_path, script))
        return made[-1]

    yield make
    for run in made:
        run.stop()


def rules(*rules, provider="apns", **rest):
    return {"rules": [{"provider": provider, **rule} for rule in rules], **rest}


ALL = [
    {"every": 1000, "goaway": {"reason": "Shutdown"}},
    {"every": 5000, "close": "fin"},
    {"every": 4900, "close": "rst"},
    {"probability": 0.01, "reason": "ServiceUnavailable"},
    {"after": COUNT // 2, "count": 1, "reason": "ExpiredProviderToken"},
]


@pytest.mark.parametrize("concurrency", [100, 1000])
def test_nothing_is_lost_and_nothing_doubled_by_all_of_them(many_pushes, concurrency):
    run = many_pushes(rules(*ALL))
    said = run.load(COUNT, concurrency)
    seen = run.counters()
    assert said["accepted"] == COUNT
    assert seen["distinct"] == COUNT
    assert seen["duplicates"] == seen["resends"] == seen["repeats"] == 0
    # The run was as bad as it was meant to be.
    reasons = seen["providers"]["apns"]["reasons"]
    assert seen["goaways_sent"] >= COUNT // 1000 and seen["closes"] >= 7
    assert reasons["ServiceUnavailable"] > COUNT // 200 and reasons["ExpiredProviderToken"] == 1


@pytest.mark.parametrize("rule", [
    {"every": 1000, "goaway": {"last_stream": "none"}},
    {"every": 1000, "goaway": {"last_stream": "processed"}, "close": "fin"},
    {"every": 1000, "goaway": {"reason": "Shutdown"}, "close": "rst"},
    {"every": 3, "refuse": True},
    {"every": 100, "reset": "INTERNAL_ERROR"},
    {"every": 500, "settings": {"max_concurrent_streams": 1}},
    {"every": 2000, "pause_reading_ms": 300},
    {"every": 3000, "no_answer": True},
    {"every": 500, "reason": "ExpiredProviderToken"},
], ids=lambda rule: "-".join(str(key) for key in rule if key != "every"))
def test_nothing_is_lost_and_nothing_doubled_by(many_pushes, rule):
    run = many_pushes(rules(rule, {"every": 333, "settings": {"max_concurrent_streams": 500}}))
    said = run.load(5000, 200)
    seen = run.counters()
    assert said["accepted"] == seen["distinct"] == 5000, said
    assert seen["duplicates"] == seen["resends"] == seen["repeats"] == 0


@pytest.mark.parametrize("close", ["fin", "rst"])
def test_a_push_whose_answer_was_lost_goes_out_again_under_the_same_id(many_pushes, close):
    """Nobody can tell it from one that was not processed; for a call a second copy does no harm."""
    run = many_pushes(rules({"every": 1000, "close": close, "accept": True}))
    said = run.load(5000, 100)
    seen = run.counters()
    assert said["accepted"] == seen["distinct"] == 5000
    assert seen["duplicates"] == seen["repeats"] == 0 and seen["resends"] == 5


def test_pushes_that_wait_get_the_new_provider_token(many_pushes):
    # 1,000 a second until the token is too old and for a second more; the rest goes fast, since the new token must
    # last to the end: two that are refused within 20 minutes count as a wrong clock.
    run = many_pushes(rules({"count": 5300, "delay_ms": 100}, streams={"max_concurrent": 100}, apns={"token_age_s": 4}))
    said = run.load(7000, 6000)
    seen = run.counters()
    assert said["accepted"] == seen["distinct"] == 7000, said
    assert 0 < seen["providers"]["apns"]["reasons"]["ExpiredProviderToken"] <= 200
    assert seen["connections"] <= 5


def test_nothing_is_lost_at_google_either(many_pushes):
    script = rules({"every": 500, "goaway": {}}, {"every": 1300, "close": "fin"}, {"every": 700, "reset": "INTERNAL_ERROR"},
                   {"probability": 0.01, "status": 503, "headers": {"retry-after": "1"}},
                   {"after": 2500, "count": 1, "status": 401}, provider="fcm")
    script["rules"].append({"provider": "oauth", "count": 1, "status": 500, "reason": "internal_failure"})
    run = many_pushes(script)
    said = run.load(5000, 100, provider="fcm")
    seen = run.counters()
    assert said["accepted"] == seen["distinct"] == 5000, said
    assert seen["duplicates"] == seen["resends"] == 0
