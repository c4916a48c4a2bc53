# SPDX-License-Identifier: MIT
"""pushwake canary calls a test user through a real Kamailio, and tells whether the phone rings."""

import json
import re
import subprocess
import time

import pytest

from phones import mpush_android
from ports import free_port
from servers import CALLS, PUSHWAKE, wait_until


def start(server, user, *options, port=None):
    return subprocess.Popen(
        [PUSHWAKE, "canary", f"sip:{user}@127.0.0.1:{port or server.port}", "--json", *map(str, options)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(canary, seconds=40):
    output, errors = canary.communicate(timeout=seconds)
    assert not errors, errors
    return canary.returncode, json.loads(output)


def nothing_is_left(server):
    server.wait_none_held()


def asleep(wire, server, user):
    """A phone that sleeps, and waits for a push."""
    phone = wire.phone(server, user, "tcp", push=mpush_android())
    phone.register()
    return phone.sleep()


def wake(wire, simulator, phone, *answers):
    """It is pushed and registers over a new connection."""
    simulator.wait_push(phone.push.token)
    woken = wire.again(phone, "tcp")
    woken.answers = {"INVITE": answers, "BYE": (200,)}
    woken.register()
    return woken


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_that_is_woken_rings_and_the_call_is_taken_back(kamailio, wire, simulator, tmp_path, transport):
    metrics = tmp_path / "canary.prom"
    phone = asleep(wire, kamailio, f"canary-{transport}")
    canary = start(kamailio, phone.user, "--transport", transport, "--metrics", metrics)
    woken = wake(wire, simulator, phone, 180)
    code, row = end(canary)
    assert code == 0 and row["success"] and row["text"] == "the phone rang" and 0 < row["ring_ms"] < 20_000
    woken.wait_request("CANCEL")
    text = metrics.read_text()
    assert f'pushwake_canary_ring_seconds{{user="{row["user"]}"}} {row["ring_ms"] / 1000:g}' in text
    assert f'pushwake_canary_success{{user="{row["user"]}"}} 1\n' in text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
    told = subprocess.run([PUSHWAKE, "trace", row["call_id"], "--socket", kamailio.directory / "engine.sock"],
                          capture_output=True, text=True, check=False)
    assert "phone 1 rings (180)" in told.stdout, "the Call-ID leads to the trace"
    nothing_is_left(kamailio)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("canary.prom")] == ["canary.prom"]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_that_answers_is_hung_up_on(kamailio, wire, simulator, transport):
    phone = asleep(wire, kamailio, f"answers-{transport}")
    canary = start(kamailio, phone.user, "--transport", transport, "--goal", "answer")
    woken = wake(wire, simulator, phone, 180, 200)
    code, row = end(canary)
    assert code == 0 and row["text"] == "the call was answered" and row["ring_ms"] <= row["answer_ms"]
    woken.wait_request("ACK")
    woken.wait_request("BYE")


def test_a_phone_that_stays_silent_is_an_alarm(kamailio, wire, tmp_path):
    alarm = tmp_path / "alarm"
    alarm.write_text(f'#!/bin/sh\nprintf "%s|%s" "$1" "$2" >{tmp_path}/rung.part && mv {tmp_path}/rung.part {tmp_path}/rung\n')
    alarm.chmod(0o755)
    phone = asleep(wire, kamailio, "silent")
    metrics = tmp_path / "canary.prom"
    code, row = end(start(kamailio, "silent", "--within", 2, "--alarm", alarm, "--metrics", metrics))
    assert code == 1 and not row["success"] and "ring_ms" not in row
    assert row["text"] == "no phone rang within 2 s; the last answer was 110"
    wait_until("the alarm", (tmp_path / "rung").exists)
    assert (tmp_path / "rung").read_text() == f"sip:silent@127.0.0.1:{kamailio.port}|{row['text']}"
    text = metrics.read_text()
    assert "pushwake_canary_success{" in text and "} 0\n" in text and "ring_seconds" not in text
    nothing_is_left(kamailio)
    assert phone.push.token not in text


def test_it_goes_on_every_minute_and_rings_the_alarm_when_the_phone_rings_no_more(kamailio, wire, tmp_path):
    alarm = tmp_path / "alarm"
    alarm.write_text(f'#!/bin/sh\necho "$2" >{tmp_path}/rung.part && mv {tmp_path}/rung.part {tmp_path}/rung\n')
    alarm.chmod(0o755)
    phone = wire.phone(kamailio, "hourly", "tcp", push=mpush_android())
    phone.answers = {"INVITE": (180,)}
    phone.register()
    metrics = tmp_path / "canary.prom"
    canary = start(kamailio, "hourly", "--every", 1, "--within", 2, "--alarm", alarm, "--metrics", metrics)
    try:
        first = json.loads(canary.stdout.readline())
        begun = time.monotonic()
        wait_until("its metrics", metrics.exists)
        assert first["success"] and "} 1\n" in metrics.read_text() and canary.poll() is None
        wait_until("the CANCEL", lambda: phone.requests("CANCEL"))
        phone.sleep()
        second = json.loads(canary.stdout.readline())
        assert 55 < time.monotonic() - begun < 75
        assert not second["success"] and second["call_id"] != first["call_id"]
        wait_until("the alarm", (tmp_path / "rung").exists)
        assert "no phone rang within 2 s" in (tmp_path / "rung").read_text() and "} 0\n" in metrics.read_text()
        assert canary.poll() is None, "it goes on"
    finally:
        canary.terminate()
        errors = canary.communicate(timeout=10)[1]
    assert not errors


def test_what_the_pbx_says_is_told(kamailio):
    code, row = end(start(kamailio, "stranger"))
    assert code == 1 and row["status"] == 404 and row["text"].startswith("the call was refused: 404 Not Found; it knows no such user")


@pytest.mark.parametrize("transport, words", [("udp", "cannot be reached|did not answer"), ("tcp", "refused")])
def test_a_pbx_that_is_away_is_told(transport, words):
    code, row = end(start(None, "anybody", "--transport", transport, "--within", 2, port=free_port()))
    assert code == 1 and row["status"] == 0 and re.search(words, row["text"], re.I)


def test_it_says_who_it_is_where_the_pbx_asks(make_kamailio, wire, simulator, tmp_path):
    config = CALLS.read_text().replace('loadmodule "@PUSHWAKE@"', 'loadmodule "auth.so"\nloadmodule "@PUSHWAKE@"')
    config = config.replace('    if (is_method("INVITE")) { record_route(); }', """
    if (is_method("INVITE") && !pv_proxy_authenticate("pbx", "s:cret", "0")) { proxy_challenge("pbx", "1"); exit; }
    if (is_method("INVITE")) { consume_credentials(); record_route(); }""")
    server = make_kamailio(config=config).start().wait_engine()
    account = tmp_path / "account"
    account.write_bytes(b"canary:s:cret\r\nnothing\r\n")
    phone = asleep(wire, server, "guarded")
    canary = start(server, "guarded", "--account", account)
    wake(wire, simulator, phone, 180)
    assert end(canary)[0] == 0
    account.write_text("canary:wrong\n")
    code, row = end(start(server, "guarded", "--account", account))
    assert code == 1 and row["status"] == 407 and "wrong" not in json.dumps(row)


@pytest.mark.parametrize("arguments", [
    ["bob"], ["sip:bob"], ["sip:b ob@h"], ["sip:bob@h\r\nX: y"], ["sip:bob@h", "--within", "0"],
    ["sip:bob@h", "--transport", "tls"], ["sip:bob@h:port"], ["sip:bob@h", "--account", "/nonexistent"]])
def test_what_cannot_be_called_is_refused(arguments):
    done = subprocess.run([PUSHWAKE, "canary", *arguments], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2 and done.stderr
