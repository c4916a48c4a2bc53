# SPDX-License-Identifier: MIT
"""Callers, phones and channels that are too many: bounded, and nobody else suffers."""

import json
import socket
import threading
import time

import pytest

from phones import rfc8599_fcm
from ports import free_port
from servers import wait_until


@pytest.fixture(scope="module")
def fastagi():
    return free_port()


@pytest.fixture(scope="module")
def server(make_server, fastagi):
    return make_server(wake_timeout=20, settings={"fastagi_listen": f"127.0.0.1:{fastagi}"})


def test_a_sleeper_who_is_called_without_end_is_pushed_now_and_then_and_all_calls_are_put_through(server, wire, simulator):
    phone = wire.phone(server, "popular", push=rfc8599_fcm())
    phone.register()
    phone.sleep()
    calls = [wire.caller(server, name=f"fan{number}").call(phone.user) for number in range(30)]
    for call in calls:
        call.wait_status(100)
    wait_until("a burst of pushes", lambda: len(simulator.calls(phone.push.token)) >= 5)
    begin = time.monotonic()
    wait_until("some seconds are over", lambda: time.monotonic() - begin > 6)
    assert len(simulator.calls(phone.push.token)) <= 7
    wire.again(phone).register()
    assert [call.wait_final().status for call in calls] == [200] * 30
    assert len(simulator.calls(phone.push.token)) <= 8


def test_other_users_are_pushed_at_once_meanwhile(server, wire, simulator):
    flooded, other = (wire.phone(server, name, push=rfc8599_fcm()) for name in ("flooded", "calm"))
    for phone in (flooded, other):
        phone.register()
        phone.sleep()
    for number in range(20):
        wire.caller(server, name=f"fan{number}").call(flooded.user)
    call = wire.call(server, other.user)
    simulator.wait_event(other.push.token, "call", 2)
    wire.again(other).register()
    assert call.wait_final().status == 200


def pushed(simulator, phone, call):
    """Whether this call was pushed to the phone."""
    return any(call.call_id in json.dumps(push) for push in simulator.calls(phone.push.token))


def test_who_has_the_token_of_another_does_not_keep_her_calls_waiting(server, wire, simulator):
    alice = wire.phone(server, "alice-of-two", push=rfc8599_fcm())
    mallory = wire.phone(server, "mallory", push=alice.push)
    for phone in (alice, mallory):
        phone.register()
        phone.sleep()
    for number in range(20):
        wire.caller(server, name=f"friend{number}").call(mallory.user)
    wait_until("the device has had what it may", lambda: len(simulator.calls(alice.push.token)) >= 5)
    call = wire.caller(server, name="bob").call(alice.user)
    wait_until("bob's call is pushed", lambda: pushed(simulator, alice, call), 3)
    # The next one waits for its turn, which comes after one of mallory's.
    second = wire.caller(server, name="carol").call(alice.user)
    wait_until("carol's call is pushed", lambda: pushed(simulator, alice, second), 15)


def test_a_caller_who_calls_all_the_time_takes_turns_with_others(server, wire, simulator):
    phone = wire.phone(server, "beloved", push=rfc8599_fcm())
    phone.register()
    phone.sleep()
    eve = wire.caller(server, name="eve")
    for _ in range(10):
        eve.call(phone.user)
    wait_until("the device has had what it may", lambda: len(simulator.calls(phone.push.token)) >= 5)
    call = wire.caller(server, name="bob").call(phone.user)
    wait_until("bob's call is pushed", lambda: pushed(simulator, phone, call), 12)


def test_an_aor_has_no_more_bindings_than_the_setting_says(server, wire, simulator):
    phones = [wire.phone(server, "hoarder", push=rfc8599_fcm()) for _ in range(14)]
    for phone in phones:
        phone.register()
        phone.sleep()
    wire.call(server, "hoarder")
    simulator.wait_event(phones[-1].push.token, "call")
    wait_until("all are pushed", lambda: sum(bool(simulator.calls(phone.push.token)) for phone in phones) == 10)
    shown = [phone for phone in phones if simulator.calls(phone.push.token)]
    assert phones[-1] in shown


def test_a_connection_that_says_nothing_does_not_stay(server, fastagi):
    with socket.create_connection(("127.0.0.1", fastagi), timeout=10) as silent:
        begin = time.monotonic()
        assert silent.recv(10) == b""
        assert 3 < time.monotonic() - begin < 8


def test_a_channel_that_gives_no_answer_does_not_stay(server, fastagi):
    with socket.create_connection(("127.0.0.1", fastagi), timeout=20) as channel:
        channel.sendall(b"agi_request: agi://h/wake?aor=nobody\n\n")
        assert channel.recv(1000).startswith(b"GET FULL VARIABLE")
        begin = time.monotonic()
        assert channel.recv(10) == b""
        assert 8 < time.monotonic() - begin < 15


def test_a_channel_that_introduces_itself_without_end_stops_nobody(server, fastagi):
    endless = socket.create_connection(("127.0.0.1", fastagi), timeout=10)
    over = threading.Event()

    def talk():
        while not over.is_set():
            try:
                endless.sendall(b"a:b\n" * 20_000)
            except OSError:
                return over.set()

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        with socket.create_connection(("127.0.0.1", fastagi), timeout=5) as channel:
            channel.sendall(b"agi_request: agi://h/bindings?aor=nobody\n\n")
            assert channel.recv(100).startswith(b"GET FULL VARIABLE")
        assert over.wait(3), "it is still listened to"
    finally:
        over.set()
        endless.close()
        talker.join()
