# SPDX-License-Identifier: MIT
"""The engine is slow, dies, or all of Kamailio does."""

import os
import signal
import time

import pytest

from phones import mpush_ios, no_push, rfc8599_apns
from servers import PUSHWAKE, stopped, wait_until
from sip import register


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_engine_is_back_within_a_second(make_kamailio, actors):
    kamailio = make_kamailio().start().wait_engine()
    phone = actors.phone(kamailio, "survivor", rfc8599_apns())
    assert phone.register().headers("Feature-Caps")

    first = kamailio.engine_pid()
    os.kill(first, signal.SIGKILL)
    killed = time.monotonic()
    wait_until("a new engine", lambda: kamailio.engine_pid() not in (None, first), 5)
    kamailio.wait_engine(5)
    assert time.monotonic() - killed < 2
    assert kamailio.process.poll() is None, "Kamailio must live on"

    assert "survivor" in kamailio.rpc("pushwake.list", "survivor")
    caller = actors.call(kamailio, "survivor", "call")
    phone.wait_and_wake()
    caller.finish()


def test_signals_for_kamailio_do_not_end_the_engine(make_kamailio, actors):
    """SIGUSR1 has Kamailio write its statistics, and goes to all processes of its group."""
    kamailio = make_kamailio().start().wait_engine()
    first = kamailio.engine_pid()
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        os.kill(first, number)
    assert actors.phone(kamailio, "unmoved", rfc8599_apns()).register().headers("Feature-Caps")
    assert "unmoved" in kamailio.rpc("pushwake.list", "unmoved")
    assert kamailio.engine_pid() == first


def test_the_first_register_after_a_start_waits_for_the_engine(make_kamailio, tmp_path):
    slow = tmp_path / "slow-engine"
    slow.write_text(f'#!/bin/sh\nsleep 0.7\nexec {PUSHWAKE} "$@"\n')
    slow.chmod(0o755)
    kamailio = make_kamailio(settings={"engine_path": slow})
    kamailio.launch()
    push = rfc8599_apns()
    contact = f"<sip:early@127.0.0.1:5999{push.named(push.contact)}>"
    _, answer = register(kamailio.port, "early", contact.encode(), every=0.05, times=200)
    assert answer[0] == "SIP/2.0 200 OK"
    assert any("sip.pns" in line for line in answer), answer
    assert "without push" not in kamailio.log_text()


def test_without_an_engine_everything_works_except_push(make_kamailio, actors):
    kamailio = make_kamailio(settings={"engine_path": "/nonexistent/pushwake"}).start()
    awake = actors.phone(kamailio, "both-ways", rfc8599_apns())
    ringing = awake.wake("answer")
    stored = ringing.wait_status(200)
    assert stored.headers("Feature-Caps") == []
    caller = actors.call(kamailio, "both-ways", "call").finish()
    assert 110 not in caller.statuses
    kamailio.wait_log("without push")
    warnings = [line for line in kamailio.log_text().splitlines() if "without push" in line]
    assert 1 <= len(warnings) <= 4, "one line per worker and ten seconds"
    assert kamailio.process.poll() is None


@pytest.mark.alone
def test_a_stopped_engine_holds_no_worker(make_kamailio, actors):
    kamailio = make_kamailio(settings={"engine_timeout": None}).start().wait_engine()
    with stopped(kamailio.engine_pid()):
        started = time.monotonic()
        phone = actors.phone(kamailio, "patient", rfc8599_apns())
        ringing = phone.wake("answer")
        stored = ringing.wait_status(200)
        assert time.monotonic() - started < 1.5
        assert stored.headers("Feature-Caps") == [], "promised what is not stored"
        actors.call(kamailio, "patient", "call").finish()


def test_bindings_survive_kill_9_of_everything(make_kamailio, actors):
    kamailio = make_kamailio().start().wait_engine()
    phone = actors.phone(kamailio, "phoenix", rfc8599_apns())
    assert phone.register().headers("Feature-Caps")
    kamailio.kill()
    kamailio.start().wait_engine()
    assert "phoenix" in kamailio.rpc("pushwake.list", "phoenix")
    caller = actors.call(kamailio, "phoenix", "call")
    caller.wait_status(110)
    phone.wait_and_wake()
    caller.finish()


def test_the_engine_ends_with_kamailio(make_kamailio):
    kamailio = make_kamailio().start().wait_engine()
    engine = kamailio.engine_pid()
    assert engine
    kamailio.stop()
    wait_until("the engine ends", lambda: not is_alive(engine), 5)


def test_the_engine_ends_when_kamailio_is_killed(make_kamailio):
    kamailio = make_kamailio().start().wait_engine()
    engine = kamailio.engine_pid()
    others = [pid for pid in kamailio.pids() if pid != engine]
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    kamailio.process.wait(5)
    wait_until("the engine ends", lambda: not is_alive(engine), 5)


def test_an_unreachable_provider_stops_no_call(make_kamailio, actors):
    nowhere = "https://127.0.0.1:9"
    kamailio = make_kamailio(settings={"apns_url": nowhere, "apns_sandbox_url": nowhere}, wake_timeout=2).start()
    kamailio.wait_engine()
    plain = actors.phone(kamailio, "near", no_push())
    plain.wake("answer").wait_status(200)
    actors.call(kamailio, "near", "call").finish()
    kamailio.wait_log("cannot connect")
    awake = actors.phone(kamailio, "remote", mpush_ios())
    awake.wake("answer").wait_status(200)
    actors.call(kamailio, "remote", "call").finish()
    assert kamailio.log_text().count("cannot connect") == 1


def test_an_engine_that_somebody_else_runs_may_come_later(make_kamailio, make_engine):
    kamailio = make_kamailio(settings={"engine_mode": "external"}).start()
    kamailio.wait_log("no engine answers: cannot connect to")
    make_engine(engine_socket=kamailio.settings["engine_socket"])
    kamailio.wait_log("the engine answers")
    kamailio.wait_engine()
    assert kamailio.log_text().count("no engine answers") == 1
