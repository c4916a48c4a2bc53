# SPDX-License-Identifier: MIT
"""The engine is stopped: what that costs the workers, and what becomes of the calls when it goes on."""

import contextlib
import os
import signal
import socket
import subprocess
import time

import pytest

from peers.http_client import listen
from phones import apns_token, rfc8599_apns, rfc8599_fcm
from servers import CONFIG, PUSHWAKE, stopped, wait_until
from sip import invite, register


def call_ids(phone):
    """Call-IDs of the INVITEs that have arrived at a socket."""
    found = set()
    with contextlib.suppress(BlockingIOError):
        while True:
            lines = phone.recv(65535, socket.MSG_DONTWAIT).decode().split("\r\n")
            if lines[0].startswith("INVITE "):
                found.add(next(line for line in lines if line.startswith("Call-ID:")))
    return found


@pytest.mark.alone
def test_twenty_calls_through_one_worker_wait_for_a_stopped_engine_once(make_kamailio, actors):
    config = CONFIG.read_text().replace("\nchildren=2\n", "\nchildren=1\n")
    kamailio = make_kamailio(config=config, settings={"engine_timeout": 300}).start().wait_engine()
    sleeper = actors.phone(kamailio, "asleep", rfc8599_apns())
    sleeper.register()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind(("127.0.0.1", 0))
        push = f"pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid={apns_token()}"
        contact = f"<sip:busy@127.0.0.1:{phone.getsockname()[1]};{push}>"
        _, answer = register(kamailio.port, "busy", contact.encode())
        assert any("sip.pns" in line for line in answer), answer
        with stopped(kamailio.engine_pid()):
            started = time.monotonic()
            for _ in range(20):
                assert invite(kamailio.port, "busy") == 100
            # One timeout, and another if this took more than a second.
            assert time.monotonic() - started < 1.5, "the calls waited one by one"
            arrived = set()
            wait_until("all calls arrive", lambda: arrived.update(call_ids(phone)) or len(arrived) == 20)
    kamailio.wait_log("goes on without push", "did not answer within engine_timeout; calls go on without push")
    # The engine's late answer is in the worker's socket, and nobody waits for the second to end.
    kamailio.wait_engine()
    assert invite(kamailio.port, "asleep") == 100
    sleeper.simulator.wait_push(sleeper.push.token, seconds=1)


def test_an_engine_that_goes_on_pushes_for_no_call_that_is_over(make_kamailio, actors):
    kamailio = make_kamailio(settings={"engine_timeout": None}).start().wait_engine()  # as shipped
    phone = actors.phone(kamailio, "late", rfc8599_apns())
    phone.register()
    with stopped(kamailio.engine_pid()):
        end = time.monotonic() + 3
        is_refused_at_once = False
        # Five calls a second, of which each worker asks for one. The last asks nobody: all who asked have given up.
        while time.monotonic() < end or not is_refused_at_once:
            started = time.monotonic()
            assert invite(kamailio.port, "late") == 100
            is_refused_at_once = time.monotonic() - started < 0.05
            time.sleep(0.2)
    wait_until("the old calls are dropped", lambda: (kamailio.counter("wakes_expired") or 0) >= 3)
    assert invite(kamailio.port, "late") == 100
    phone.simulator.wait_push(phone.push.token)
    kamailio.wait_log("RESULT", "outcome=accepted", "aor=late")
    assert len(phone.simulator.pushes(phone.push.token)) == 1
    assert kamailio.counter("pushes") == kamailio.counter("wakes") == 1


def test_an_engine_that_stays_silent_is_ended_and_the_next_one_pushes(make_kamailio, actors):
    kamailio = make_kamailio().start().wait_engine()
    phone = actors.phone(kamailio, "hung", rfc8599_apns())
    phone.register()
    hung = kamailio.engine_pid()
    with stopped(hung):
        kamailio.wait_log(f"the engine (process {hung}) has not answered for 40 s", seconds=50)
        kamailio.wait_log("the engine ended (signal 9)")
    kamailio.wait_engine()
    assert kamailio.engine_pid() not in (0, hung)
    assert invite(kamailio.port, phone.user) == 100
    phone.simulator.wait_push(phone.push.token)


@pytest.fixture
def pushed(make_server, wire, simulator):
    """A call to phones that sleep and were pushed, of which its Kamailio knows."""
    def make(*pushes):
        server = make_server(wake_timeout=10)
        phones = [wire.phone(server, "pushed", "udp", push()) for push in pushes]
        for phone in phones:
            phone.register()
            phone.sleep()
        call = wire.call(server, "pushed")
        for phone in phones:
            simulator.wait_event(phone.push.token, "call")
        call.wait_status(110)
        time.sleep(0.3)
        return server, call, phones

    return make


def decline(wire, phone):
    woken = wire.again(phone)
    woken.answers["INVITE"] = (180, 486)
    woken.register()
    woken.wait_request("ACK")
    return woken


def test_the_only_phone_declines_while_the_engine_is_stopped(pushed, wire):
    server, call, [phone] = pushed(rfc8599_apns)
    with stopped(server.engine_pid()):
        woken = decline(wire, phone)
        assert call.wait_final(2).status == 486
    server.wait_engine()
    time.sleep(0.5)
    assert len(woken.requests("INVITE")) == 1
    server.wait_none_held()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_phone_that_declined_while_the_engine_was_stopped_does_not_ring_again(pushed, wire, is_killed):
    server, call, [first, second] = pushed(rfc8599_apns, rfc8599_fcm)
    engine = server.engine_pid()
    with stopped(engine):
        woken = decline(wire, first)
        time.sleep(0.3)
        assert call.final is None
        if is_killed:
            os.kill(engine, signal.SIGKILL)
    wait_until("an engine answers", lambda: not is_killed or server.engine_pid() not in (0, engine))
    server.wait_engine()
    time.sleep(0.5)
    assert len(woken.requests("INVITE")) == 1
    wire.again(second).register()
    call.wait_status(200)
    assert len(woken.requests("INVITE")) == 1


def test_agi_waits_for_a_stopped_engine_no_longer_than_for_a_phone(make_engine, tmp_path, simulator):
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("apns_")}
    engine, client = listen(make_engine, tmp_path, **keys)
    token = apns_token()
    made = client.curl("/v1/bindings", "-d", f"aor=agi&provider=apns&app=com.example.phone&token={token}&service=voip")
    assert made.json == {"stored": 1}
    with subprocess.Popen([PUSHWAKE, "agi", "--settings", engine.settings, "wake", "agi", "2"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as channel:
        channel.stdin.write("agi_request: pushwake.agi\n\n")
        assert channel.stdout.readline().startswith("GET FULL VARIABLE")
        channel.stdin.write("200 result=0\n")
        simulator.wait_push(token)
        with stopped(engine.process.pid):
            started = time.monotonic()
            said = [channel.stdout.readline()]
            assert time.monotonic() - started < 5
            channel.stdin.write("200 result=1\n")
            said.append(channel.stdout.readline())
            channel.stdin.close()
    assert "did not answer in time" in said[0] and 'PUSHWAKE_STATUS "UNAVAILABLE"' in said[1], said
