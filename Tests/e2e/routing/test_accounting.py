# SPDX-License-Identifier: MIT
"""Accounting as Kamailio's own configuration has it: one record of a missed call, whatever was held."""

import re

import pytest

from phones import rfc8599_fcm
from servers import CALLS, stopped, wait_until

LOAD = """loadmodule "acc.so"
modparam("acc", "log_level", 0)
modparam("acc", "log_flag", 1)
modparam("acc", "log_missed_flag", 2)
modparam("acc", "failed_transaction_flag", 3)
"""
FLAGS = 'if (is_method("INVITE")) { record_route(); setflag(1); setflag(2); setflag(3); }'


ROUTE = re.compile(r"failure_route\[PUSHWAKE\] \{.*?\n\}\n", re.S)


@pytest.fixture(scope="module", params=["with a failure_route", "without"])
def server(request, make_server):
    config = CALLS.read_text().replace('modparam("tls", "tls_method"', LOAD + 'modparam("tls", "tls_method"', 1)
    config = config.replace('if (is_method("INVITE")) { record_route(); }', FLAGS)
    if request.param == "without":
        config = ROUTE.sub("", config)
    assert "acc.so" in config and FLAGS in config
    return make_server(config=config, settings={"decline_waits": 1, "engine_timeout": 300}, wake_timeout=2)


@pytest.fixture
def sleeper(server, wire, simulator):
    def make(user):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        return phone.sleep()

    return make


def check(server, call, status):
    """One record of each kind, with what the caller heard."""
    assert call.wait_final(12).status == status
    wait_until("accounting", lambda: records(server, call, "transaction answered"))
    assert records(server, call, "transaction answered") == [str(status)]
    assert records(server, call, "call missed") == [str(status)]


def records(server, call, kind):
    """Codes of this call's records of a kind."""
    found = re.findall(rf"ACC: {kind}: .*?call_id=([^;]*);code=(\d+)", server.log_text())
    return [code for call_id, code in found if call_id == call.call_id]


def test_nobody_wakes(server, wire, sleeper):
    sleeper("asleep")
    check(server, wire.call(server, "asleep"), 480)


def test_nobody_wakes_and_the_engine_is_gone(server, wire, sleeper, simulator):
    phone = sleeper("lost")
    call = wire.call(server, "lost")
    simulator.wait_event(phone.push.token, "call")
    with stopped(server.engine_pid()):
        check(server, call, 480)


def test_one_declines_and_one_sleeps_on(server, wire, sleeper):
    desk = wire.phone(server, "busy")
    desk.answers["INVITE"] = (180, 486)
    desk.register()
    sleeper("busy")
    check(server, wire.call(server, "busy"), 486)


def test_one_rings_on_and_one_sleeps_on(server, wire, sleeper):
    desk = wire.phone(server, "rings")
    desk.answers["INVITE"] = (180,)
    desk.register()
    sleeper("rings")
    check(server, wire.call(server, "rings", "X-Fr: 20000", "X-Fr-Inv: 600"), 408)


def test_the_caller_hangs_up(server, wire, sleeper, simulator):
    phone = sleeper("impatient")
    call = wire.call(server, "impatient")
    simulator.wait_event(phone.push.token, "call")
    call.cancel()
    check(server, call, 487)
