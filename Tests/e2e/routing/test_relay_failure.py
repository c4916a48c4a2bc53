# SPDX-License-Identifier: MIT
"""t_relay() fails, and the script says so, while a phone is being woken: the caller must not hear of it."""

import time

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE, CALLS


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(wake_timeout=5)


GONE = {
    "a connection that is gone": "sip:desk@127.0.0.1:9;transport=tcp",
    "a transport that is not there": "sip:desk@127.0.0.1:9;transport=sctp",
    "an address family that is not there": "sip:desk@[2001:db8::1]:5060",
}


@pytest.mark.alone
@pytest.mark.parametrize("contact", GONE.values(), ids=GONE.keys())
@pytest.mark.parametrize("method", ["INVITE", "MESSAGE"])
def test_beside_a_phone_that_sleeps(server, wire, simulator, contact, method):
    user = f"gone-{method}-{list(GONE.values()).index(contact)}"
    wire.phone(server, user, contact=contact).register()
    mobile = wire.phone(server, user, "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    caller = wire.caller(server)
    call = caller.call(user) if method == "INVITE" else caller.write(user)
    simulator.wait_push(mobile.push.token)
    time.sleep(0.3)
    assert call.final is None, call.transcript()
    woken = wire.again(mobile)
    registered = woken.register()
    assert woken.wait_request(method).at - registered.at < AT_ONCE
    assert call.wait_final().status == 200


def test_where_the_phone_registers_first_it_cannot_be_rung(server, wire, simulator):
    """The push has woken it, so it may register once more."""
    mobile = wire.phone(server, "wrong-first", "udp", rfc8599_fcm())
    mobile.register()
    call = wire.call(server, mobile.user)
    simulator.wait_event(mobile.push.token, "call")
    call.wait_status(110)
    right = mobile.uri
    mobile.uri = GONE["a transport that is not there"].replace("desk", mobile.user)
    mobile.register()
    time.sleep(0.3)
    assert call.final is None
    mobile.uri = right
    mobile.register()
    call.wait_status(200)


@pytest.mark.alone
def test_when_the_push_fails_too_the_caller_hears_it_at_once(server, wire, simulator):
    user = "gone-both"
    wire.phone(server, user, contact="sip:desk@127.0.0.1:9;transport=sctp").register()
    mobile = wire.phone(server, "nat-mobile", "tcp", rfc8599_apns())
    mobile.user = user
    mobile.push.token = "unregistered" + mobile.push.token[12:]
    mobile.uri = f"sip:{user}@127.0.0.1:{mobile.endpoint.port};transport=tcp;alias=127.0.0.1~{mobile.endpoint.port}~2"
    mobile.register()
    mobile.sleep()
    call = wire.call(server, user)
    assert call.wait_final().status == 480
    assert call.final.at - call.sent_at < 0.3


def test_with_nobody_to_wake_the_script_speaks(server, wire):
    wire.phone(server, "gone-alone", contact="sip:desk@127.0.0.1:9;transport=sctp").register()
    call = wire.call(server, "gone-alone")
    assert call.wait_final().status in (477, 500)


def test_an_awake_phone_beside_it_rings(server, wire, simulator):
    user = "gone-awake"
    wire.phone(server, user, contact="sip:desk@127.0.0.1:9;transport=sctp").register()
    awake = wire.phone(server, user, "tcp", rfc8599_fcm())
    awake.register()
    call = wire.call(server, user)
    assert call.wait_final().status == 200
    assert simulator.pushes(awake.push.token) == []


@pytest.mark.parametrize("method", ["INVITE", "MESSAGE"])
def test_a_branch_route_that_drops_the_only_awake_phone(server, wire, simulator, method):
    user = f"dropped-{method}"
    wire.phone(server, user, contact="sip:desk@127.0.0.1:9").register()
    mobile = wire.phone(server, user, "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    caller = wire.caller(server)
    call = caller.call(user, "X-Drop: desk") if method == "INVITE" else caller.request(user, "MESSAGE", "X-Drop: desk")
    simulator.wait_push(mobile.push.token)
    woken = wire.again(mobile)
    woken.register()
    woken.wait_request(method)
    assert call.wait_final().status == 200 and [s for s in call.statuses if s >= 200] == [200]


@pytest.mark.parametrize("sends", ["sl_send_reply", "send_reply"])
def test_a_script_that_refuses_after_the_lookup_has_the_last_word(make_server, wire, simulator, sends):
    """sl_send_reply() knows nothing of transactions; after lookup() that is right, since there is none yet."""
    config = CALLS.read_text().replace("        case 1:  if", f'        case 1:  {sends}("486", "Limit"); exit;\n                 if', 1)
    server = make_server(config=config, wake_timeout=3)
    awake = wire.phone(server, "barred", "tcp", rfc8599_apns())
    awake.register()
    mobile = wire.phone(server, "barred", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, "barred")
    assert call.wait_final().status == 486
    server.wait_none_held()
    registered = awake.register()
    woken = wire.again(mobile)
    woken.register()
    time.sleep(0.3)
    assert awake.requests("INVITE") == [] and woken.requests("INVITE") == [] and registered.status == 200
    assert 180 not in call.statuses
    assert simulator.events(awake.push.token) == []
