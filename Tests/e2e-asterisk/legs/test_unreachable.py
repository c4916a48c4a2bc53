# SPDX-License-Identifier: MIT
"""A phone that wakes and registers an address at which it cannot be reached: its call waits on."""

import pytest
from ports import free_port
from servers import wait_until
from sleeper import fcm
from test_networks import over_tls
from test_plain_dial import DIALPLAN, nothing_is_left, take

UNREACHABLE = {
    "TCP, where nobody listens": "sip:{user}@127.0.0.1:{port};transport=tcp",
    "TCP, a name that does not resolve": "sip:{user}@nowhere.invalid:{port};transport=tcp",
    "a name that does not resolve": "sip:{user}@nowhere.invalid:{port}",
    "TCP, a network that Asterisk is not in": "sip:{user}@[2001:db8::1]:{port};transport=tcp",
    "TLS, a network that Asterisk is not in": "sip:{user}@[2001:db8::1]:{port};transport=tls",
    "a transport that Asterisk does not have": "sip:{user}@127.0.0.1:{port};transport=sctp",
}


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("unreachable", extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 10}, start=False)
    made.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = no\n")
    over_tls(made)
    made.start()
    made.wait_engine()
    yield made
    made.stop()


@pytest.fixture(params=UNREACHABLE.values(), ids=UNREACHABLE.keys())
def contact(request, user):
    return request.param.format(user=user, port=free_port())


def wake_at(phone, contact):
    """It registers there, and Asterisk cannot reach it."""
    phone.simulator.wait_push(phone.token)
    awake = phone._phone()
    awake.instance = phone.instance
    assert awake.register(phone.parameters, contact=contact).status == 200
    trace = f"pushwake trace {phone.user}"
    wait_until("the call waits", lambda: "not reached (503)" in phone.asterisk.cli(trace), 5, 0.05)


def test_the_call_waits_on(sleeper, caller, user, asterisk, contact):
    phone = sleeper(fcm)
    call = caller.call(user)
    wake_at(phone, contact)
    awake = phone.wake()
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)


def test_another_phone_rings(sleeper, caller, user, asterisk, contact):
    phone, other = sleeper(fcm), sleeper(fcm)
    call = caller.call(user)
    wake_at(phone, contact)
    awake = other.wait_and_wake()
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)


def test_the_caller_hangs_up_afterwards(sleeper, caller, user, asterisk, contact):
    phone = sleeper(fcm)
    call = caller.call(user)
    wake_at(phone, contact)
    call.cancel()
    nothing_is_left(asterisk)
    wait_until("its end is pushed", lambda: len(phone.pushes) > 1)
