# SPDX-License-Identifier: MIT
"""Faults of a provider as the engine meets them: each push has one outcome, the right one, in its time; the log stays short."""

import base64
import collections
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time
import uuid

import pytest

from peers.http_client import listen
from peers.raw_provider import OK, RawProvider, frame, friendly, literal
from servers import PUSHWAKE, wait_until

HEADERS, DATA, RST, GOAWAY = 1, 0, 3, 7
END_STREAM, END_HEADERS = 1, 4


@pytest.fixture
def provider(simulator):
    made = []

    def make(*behaviours, protocol="h2"):
        made.append(RawProvider(simulator.directory / "files", *behaviours, protocol=protocol))
        return made[-1]

    yield make
    for one in made:
        one.stop()
        assert not one.errors, one.errors


@pytest.fixture
def apns(make_engine, simulator, provider):
    """An engine whose Apple behaves so."""
    def make(*behaviours, **settings):
        server = provider(*behaviours)
        keys = {name: simulator.settings()[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}
        engine = make_engine(apns_url=server.url, apns_sandbox_url=server.url, **keys, **settings)
        engine.server = server
        return engine
    return make


def send(engine, platform="apns", seconds=30, event="call", count=1):
    """Pushes at once; rows with outcome, reason and how long it took."""
    arguments = [PUSHWAKE, "send", event, "--platform", platform, "--package", "com.example.phone", "--timeout", str(seconds),
                 "--json", "--settings", engine.settings]
    running = [subprocess.Popen([*arguments, "--token", uuid.uuid4().hex], stdout=subprocess.PIPE, text=True)
               for _ in range(count)]
    rows = [json.loads(process.communicate(timeout=seconds + 20)[0])[0] for process in running]
    return [(row["outcome"], row["reason"], row["ms"] / 1000) for row in rows]


def answer(status, body=b"", *fields):
    """One answer to everything."""
    def behave(peer):
        peer.preface()
        for stream in peer.requests():
            block = literal(b":status", str(status).encode()) + b"".join(literal(*field) for field in fields)
            peer.send(frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), stream, block),
                      frame(DATA, END_STREAM, stream, body) if body else b"")
    return behave


# MARK: In its time


def mute(peer):
    peer.preface()
    for _ in peer.frames():
        pass


def lively(peer):
    """Gives signs of life, and no answer."""
    peer.preface()

    def beat():
        try:
            while True:
                peer.send(frame(6, payload=bytes(8)))
                time.sleep(0.3)
        except OSError:
            pass
    threading.Thread(target=beat, daemon=True).start()
    for _ in peer.frames():
        pass


def no_window(peer):
    peer.preface((3, 100), (4, 0))
    for _ in peer.frames():
        pass


@pytest.mark.parametrize("behave", [mute, lively, no_window], ids=lambda f: f.__name__)
def test_a_push_ends_with_its_time_though_an_answer_may_yet_come(apns, behave):
    engine = apns(behave, friendly, request_timeout=60_000)
    (outcome, reason, seconds), = send(engine, seconds=2)
    assert outcome in ("unavailable", "expired") and reason
    assert 2 <= seconds < 8
    # And the next one does not wait behind it.
    (outcome, _, seconds), = send(engine, seconds=10)
    assert outcome == "accepted" and seconds < 8


def test_an_answer_that_comes_before_the_request_is_whole_counts_at_once(apns):
    def early(peer):
        peer.preface((3, 100), (4, 0))
        for made in peer.frames():
            if made.type == HEADERS:
                peer.send(frame(HEADERS, END_HEADERS, made.stream_id, literal(b":status", b"413")),
                          frame(DATA, END_STREAM, made.stream_id, b'{"reason":"PayloadTooLarge"}'))
    engine = apns(early)
    send(engine)  # leaves before the window is known to be shut
    (outcome, reason, seconds), = send(engine)
    assert (outcome, reason) == ("rejected", "PayloadTooLarge")
    assert seconds < 5


def test_a_body_that_drips_ends_with_the_time_for_an_answer(provider, make_engine):
    def drip(peer):
        text = b""
        while b"\r\n\r\n" not in text:
            text += peer.read(1)
        try:
            for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + b" " * 1000:
                peer.send(bytes([byte]))
                time.sleep(0.1)
        except OSError:
            pass
    server = provider(drip, protocol="http/1.1")
    engine = make_engine(webhook_url=f"{server.url}/push", request_timeout=2000)
    (outcome, reason, seconds), = send(engine, platform="bell", seconds=4, event="chat")
    assert outcome == "unavailable" and "did not answer within 2000 ms" in reason
    assert seconds < 8


def test_an_engine_that_is_told_to_end_leaves_no_push_without_an_outcome(apns):
    under_way = []

    def hesitant(peer):
        peer.preface()
        for stream in peer.requests():
            under_way.append((peer, stream))
    engine = apns(hesitant)
    arguments = [PUSHWAKE, "send", "call", "--platform", "apns", "--package", "com.example.phone", "--json", "--settings",
                 engine.settings, "--token"]
    running = [subprocess.Popen([*arguments, uuid.uuid4().hex], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    wait_until("all are under way", lambda: len(under_way) == 6)
    begin = time.monotonic()
    engine.process.terminate()
    wait_until("it has heard", lambda: "the engine ends" in engine.text())
    for peer, stream in under_way[:3]:
        peer.accept(stream)
    rows = [json.loads(process.communicate(timeout=20)[0])[0] for process in running]
    assert engine.process.wait(10) == 0
    assert time.monotonic() - begin < 8
    ends = collections.Counter((row["outcome"], row["reason"]) for row in rows)
    assert ends == {("accepted", ""): 3, ("unavailable", "EngineEnds"): 3}


def test_a_connection_that_fell_silent_costs_a_call_two_seconds(apns):
    def dies(peer):
        peer.preface()
        peer.accept(next(peer.requests()))
        mute_rest(peer)
    engine = apns(dies, friendly)
    assert [outcome for outcome, _, _ in send(engine)] == ["accepted"]
    (outcome, _, seconds), = send(engine)
    assert outcome == "accepted" and 1 < seconds < 5
    (outcome, _, seconds), = send(engine)
    assert outcome == "accepted" and seconds < 1
    assert engine.server.connections == 2


def test_a_connection_that_never_said_a_word_costs_a_call_two_seconds(apns):
    def dead(peer):
        peer.preface()
        mute_rest(peer)
    engine = apns(dead, friendly)
    (outcome, _, seconds), = send(engine)
    assert outcome == "accepted" and 1 < seconds < 6
    assert engine.server.connections == 2


def test_a_connection_that_dies_between_two_answers_costs_a_call_two_seconds(apns):
    def dies(peer):
        peer.preface()
        requests = peer.requests()
        peer.accept(next(requests))
        first, _ = next(requests), next(requests)
        peer.accept(first)
        mute_rest(peer)
    engine = apns(dies, friendly)
    assert [outcome for outcome, _, _ in send(engine)] == ["accepted"]
    ends = send(engine, count=2)
    assert [outcome for outcome, _, _ in ends] == ["accepted", "accepted"]
    assert 1 < max(seconds for _, _, seconds in ends) < 6


def mute_rest(peer):
    """Reads on, so that the kernel confirms all, and says nothing: not even to a PING."""
    while True:
        peer.read(1)


# MARK: The right outcome


def test_a_push_that_was_refused_and_then_ran_out_of_time_says_why_it_was_refused(apns):
    engine = apns(answer(429, b'{"reason":"TooManyProviderTokenUpdates"}'))
    ends = collections.Counter((outcome, reason) for outcome, reason, _ in send(engine, seconds=4, count=3))
    assert ends == {("unavailable", "TooManyProviderTokenUpdates"): 3}
    # Each refusal asks for another connection: not in a tight loop.
    assert engine.server.connections < 15


def test_a_token_without_a_life_is_used_and_not_fetched_again_and_again(provider, make_engine, simulator, tmp_path):
    asked = []

    def oauth(peer):
        peer.preface()
        for stream in peer.requests():
            asked.append(time.monotonic())
            peer.send(frame(HEADERS, END_HEADERS, stream, OK),
                      frame(DATA, END_STREAM, stream, b'{"access_token":"ya29.key","expires_in":0,"token_type":"Bearer"}'))
    tokens, google = provider(oauth), provider(answer(200, b'{"name":"projects/p/messages/1"}'))
    key = json.loads((simulator.directory / "files" / "fcmkey.json").read_text())
    (tmp_path / "key.json").write_text(json.dumps(key | {"token_uri": f"{tokens.url}/token"}))
    engine = make_engine(fcm_key=tmp_path / "key.json", fcm_url=google.url)
    assert {outcome for outcome, _, _ in send(engine, platform="fcm", count=5)} == {"accepted"}
    time.sleep(1)
    assert len(asked) <= 10, len(asked)
    assert "ya29" not in engine.text()


WRONG_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int (*get)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int end = get(clock, time);
    if (clock == CLOCK_REALTIME && access(getenv("WRONG_CLOCK"), F_OK) == 0)
        time->tv_sec += 86400;
    return end;
}
"""


def test_a_clock_that_is_put_right_is_right_at_once(provider, make_engine, simulator, tmp_path, monkeypatch):
    refused = []

    def oauth(peer):
        peer.preface()
        for made in peer.frames():
            if made.type == DATA and b"assertion=" in made.data:
                claims = made.data.split(b"assertion=")[1].split(b".")[1]
                ahead = json.loads(base64.urlsafe_b64decode(claims + b"=="))["iat"] - time.time()
                status, body = b"200", {"access_token": "abc", "expires_in": 3599}
                if ahead > 60:
                    refused.append(ahead)
                    status, body = b"400", {"error": "invalid_grant", "error_description": "Check your iat and exp values"}
                peer.send(frame(HEADERS, END_HEADERS, made.stream_id, literal(b":status", status)),
                          frame(DATA, END_STREAM, made.stream_id, json.dumps(body).encode()))
    wrong = tmp_path / "wrong"
    wrong.touch()
    (tmp_path / "wrong.c").write_text(WRONG_CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "wrong.so", tmp_path / "wrong.c"], check=True)
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(tmp_path / "wrong.so"))
        patch.setenv("WRONG_CLOCK", str(wrong))
        engine = google(provider, make_engine, simulator, tmp_path, answer(200, b'{"name":"projects/p/messages/1"}'),
                        oauth=oauth)
    # Each refusal makes the pause after it longer.
    wait_until("four refusals", lambda: send(engine, platform="fcm") and len(refused) >= 4, 20)
    (outcome, reason, _), = send(engine, platform="fcm")
    assert outcome == "misconfigured" and reason.endswith("this machine's clock (iat)"), reason
    wrong.unlink()
    assert [outcome for outcome, _, _ in send(engine, platform="fcm")] == ["accepted"]


def google(provider, make_engine, simulator, tmp_path, *behaviours, oauth=None):
    """An engine whose Google behaves so."""
    def willing(peer):
        peer.preface()
        for stream in peer.requests():
            peer.send(frame(HEADERS, END_HEADERS, stream, OK),
                      frame(DATA, END_STREAM, stream, b'{"access_token":"abc","expires_in":3599}'))
    tokens, server = provider(oauth or willing), provider(*behaviours)
    key = json.loads((simulator.directory / "files" / "fcmkey.json").read_text())
    (tmp_path / "key.json").write_text(json.dumps(key | {"token_uri": f"{tokens.url}/token"}))
    engine = make_engine(fcm_key=tmp_path / "key.json", fcm_url=server.url)
    engine.server = server
    return engine


def test_messages_survive_a_google_that_closes_after_each_answer(provider, make_engine, simulator, tmp_path):
    taken = []

    def once(peer):
        peer.preface((3, 1))
        stream = next(peer.requests())
        taken.append(stream)
        # With something unread close() sends a reset and no end, after which nobody can know what was taken: all that came
        # is read, and answer and end leave together, so that nothing comes between them.
        while not peer.is_acknowledged:
            next(peer.frames())
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        peer.accept(stream)
    engine = google(provider, make_engine, simulator, tmp_path, once)
    ends = collections.Counter((outcome, reason) for outcome, reason, _ in send(engine, "fcm", event="chat", count=40))
    assert ends == {("accepted", ""): 40}
    assert len(taken) == 40


@pytest.mark.parametrize("event, push_type, copies", [("chat", None, 2), ("missed", None, 2), ("call", None, 2),
                                                      ("custom", "background", 1)])
def test_apple_gets_a_second_copy_only_of_what_a_phone_folds(make_simulator, make_engine, event, push_type, copies):
    apple = make_simulator({"rules": [{"provider": "apns", "count": 1, "close": "rst", "accept": True}]})
    engine = make_engine(apple, **{name: apple.settings()[name] for name in ("apns_key", "apns_key_id", "apns_team_id")})
    token = uuid.uuid4().hex
    arguments = ["--push-type", push_type] if push_type else []
    done = engine.run("send", event, "--platform", "apns", "--package", "com.example.phone", "--token", token, "--json",
                      "--timeout", "20", *arguments)
    assert json.loads(done.stdout)[0]["outcome"] == ("accepted" if copies == 2 else "unavailable")
    requests = apple.pushes(token)
    assert len(requests) == copies
    if event != "call" and copies == 2:
        first, second = (entry["headers"]["apns-collapse-id"] for entry in requests)
        assert first == second


# MARK: The log


def test_an_account_without_a_token_is_complained_of_once(provider, make_engine, simulator, tmp_path):
    asked = []

    def oauth(peer):
        peer.preface()
        for stream in peer.requests():
            asked.append(stream)
            if len(asked) < 4:
                peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, literal(b":status", b"503")))
            else:
                peer.send(frame(HEADERS, END_HEADERS, stream, OK),
                          frame(DATA, END_STREAM, stream, b'{"access_token":"abc","expires_in":3599}'))
    tokens, google = provider(oauth), provider(answer(200, b'{"name":"projects/p/messages/1"}'))
    key = json.loads((simulator.directory / "files" / "fcmkey.json").read_text())
    (tmp_path / "key.json").write_text(json.dumps(key | {"token_uri": f"{tokens.url}/token"}))
    engine = make_engine(fcm_key=tmp_path / "key.json", fcm_url=google.url)
    # The push waits for the token, however often that is refused meanwhile.
    assert {outcome for outcome, _, _ in send(engine, platform="fcm", seconds=40)} == {"accepted"}
    assert engine.text().count("no access token") == 1
    assert engine.text().count("there is an access token again") == 1


def test_a_call_waits_for_no_account_whose_tokens_cannot_be_had(provider, make_engine, simulator, tmp_path):
    google = provider(answer(200, b'{"name":"projects/p/messages/1"}'))
    key = json.loads((simulator.directory / "files" / "fcmkey.json").read_text())
    (tmp_path / "key.json").write_text(json.dumps(key | {"token_uri": "https://127.0.0.1:9/token"}))
    engine, client = listen(make_engine, tmp_path, fcm_key=tmp_path / "key.json", fcm_url=google.url)
    wait_until("its state is known", lambda: client.curl("/healthz").json["providers"] == {"fcm": "unreachable"})
    made = client.curl("/v1/bindings", "-d", f"aor=bob&provider=fcm&app={key['project_id']}&token={'f' * 60}")
    assert made.json == {"stored": 1}
    woken = client.curl("/v1/wake", "-d", "aor=bob&timeout=25").json
    assert woken["status"] == "failed" and woken["ms"] < 5000, woken
    (outcome, reason, _), = send(engine, platform="fcm", seconds=3)
    assert outcome == "unavailable" and "Connection refused" in reason


def test_a_provider_that_ends_each_connection_does_not_fill_the_log(apns):
    def once(peer):
        peer.preface()
        stream = next(peer.requests())
        peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK),
                  frame(GOAWAY, payload=struct.pack(">II", stream, 0) + b'{"reason":"Shutdown"}'))
        for _ in peer.frames():
            pass
    engine = apns(once)
    for _ in range(3):
        assert {outcome for outcome, _, _ in send(engine, count=5)} == {"accepted"}
    lines = [line for line in engine.text().splitlines() if "GOAWAY" in line]
    assert 1 <= len(lines) <= 3
    # Nothing is wrong: the pushes went over other connections.
    assert "without push" not in engine.text()


def levels(engine, text):
    """Levels of the lines with this text."""
    return [line.split()[2] for line in engine.text().splitlines() if text in line]


@pytest.mark.parametrize("log_level, shown", [("info", []), ("debug", ["debug"])])
def test_a_push_that_was_taken_is_shown_to_who_looks_for_it(apns, log_level, shown):
    engine = apns(friendly, log_level=log_level)
    assert [outcome for outcome, _, _ in send(engine)] == ["accepted"]
    assert levels(engine, "push accepted") == shown


def test_a_failure_is_worth_a_line_and_what_an_operator_must_mend_a_warning(apns):
    engine = apns(answer(400, b'{"reason":"BadMessageId"}'))
    assert [outcome for outcome, _, _ in send(engine, count=2)] == ["rejected", "rejected"]
    assert levels(engine, "push rejected") == ["info", "info"]
    engine = apns(answer(400, b'{"reason":"BadTopic"}'))
    assert [outcome for outcome, _, _ in send(engine, count=3)] == ["misconfigured"] * 3
    assert levels(engine, "push misconfigured") == ["warning", "info", "info"]


def test_a_storm_of_failures_does_not_fill_the_log_and_is_counted(apns):
    engine = apns(answer(400, b'{"reason":"BadTopic"}'))
    begin = time.monotonic()
    for _ in range(8):
        assert {outcome for outcome, _, _ in send(engine, count=15)} == {"misconfigured"}
    seconds = time.monotonic() - begin
    own = [line for line in engine.text().splitlines() if "push misconfigured" in line and "reason=BadTopic" in line]
    assert 5 <= len(own) <= 5 * (seconds + 1)
    wait_until("the rest is counted", lambda: len(own) + sum(
        int(count) for count in re.findall(r"push misconfigured provider=apns: (\d+) more, not shown", engine.text())) == 120)
    assert engine.stats()["apns_misconfigured"] == 120
    assert os.path.getsize(engine.log) < 40_000


def test_a_token_that_the_provider_repeats_is_not_shown(apns):
    token = uuid.uuid4().hex
    engine = apns(answer(400, json.dumps({"reason": f"Bad {token}"}).encode()))
    done = engine.run("send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", token, "--json")
    assert json.loads(done.stdout)[0]["reason"] == "Bad …"
    assert "push rejected" in engine.text() and token not in engine.text() + engine.run("trace").stdout


def test_a_reason_from_outside_writes_no_line_and_no_value_of_its_own(apns):
    forged = "x status=200 reason=OK\n 0(1) ALERT: forged\x1b[31m\u009b\u2028\u202e"
    engine = apns(answer(400, json.dumps({"reason": forged}).encode()))
    (outcome, reason, _), = send(engine)
    assert (outcome, reason) == ("rejected", "x status=200 reason=OK? 0(1) ALERT: forged?[31m???")
    line, = [line for line in engine.text().splitlines() if "push rejected" in line]
    assert f'status=400 reason="{reason}" ms=' in line
    assert not any(line.startswith(" 0(1)") for line in engine.text().splitlines())
