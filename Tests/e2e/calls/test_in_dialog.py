# SPDX-License-Identifier: MIT
"""Requests within a call wake the phone that they are for (RFC 8599, 6)."""

import re

import pytest

from phones import rfc8599_apns, rfc8599_fcm


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"purr": 1, "awake_for": 0}, wake_timeout=2)


def purr_of(answer):
    """What the 200 to a REGISTER tells, beside the push service that it belongs to."""
    caps = [line for line in answer.headers("Feature-Caps") if "+sip.pns=" in line]
    return re.search(r'[+]sip[.]pnspurr="([^"]+)"', caps[0])[1]


def answered_call(server, wire, simulator, phone, user):
    """A call that a woken phone has taken; its Contact carries its PURR, as RFC 8599, 6.1.1 has it."""
    phone.register()
    phone.sleep()
    call = wire.call(server, user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    registered = woken.register()
    purr = purr_of(registered)
    woken.uri += f";pn-purr={purr}"
    call.wait_status(200)
    return call, woken, purr


@pytest.mark.parametrize("make_push, method", [
    (rfc8599_fcm, "INFO"), (rfc8599_fcm, "UPDATE"), (rfc8599_fcm, "INVITE"), (rfc8599_fcm, "BYE"),
    (rfc8599_apns, "INVITE"),  # its token is PushKit's, and takes calls alone
])
def test_a_sleeping_phone_is_woken_and_gets_the_request(server, wire, simulator, method, make_push):
    user = f"purr-{method.lower()}-{make_push.__name__[-4:]}"
    call, phone, purr = answered_call(server, wire, simulator, wire.phone(server, user, "udp", make_push()), user)
    phone.sleep()
    before = len(simulator.pushes(phone.push.token))
    cseq = call.request(method)
    simulator.wait_push(phone.push.token, after=before)
    woken = wire.again(phone)
    woken.answers[method] = (200,)
    woken.register()
    request = woken.wait_request(method)
    assert f"pn-purr={purr}" in request.first_line, "the Request-URI is the dialog's own"
    assert call.wait_answer_to(cseq).status == 200


def test_nobody_wakes_and_only_the_transaction_fails(server, wire, simulator):
    """RFC 8599, 6.2.3: 404 and 480 would end the dialog."""
    call, phone, _ = answered_call(server, wire, simulator, wire.phone(server, "purr-away", "udp", rfc8599_fcm()), "purr-away")
    phone.sleep()
    assert call.wait_answer_to(call.request("INFO"), 8).status == 504


def test_an_altered_purr_wakes_nobody(server, wire, simulator):
    call, phone, purr = answered_call(server, wire, simulator, wire.phone(server, "purr-fake", "udp", rfc8599_fcm()), "purr-fake")
    phone.answers["INFO"] = (200,)
    before = len(simulator.pushes(phone.push.token))
    wrong = ("0" if purr[0] != "0" else "1") + purr[1:]
    assert call.wait_answer_to(call.request("INFO", phone.uri.replace(purr, wrong))).status == 200
    assert len(simulator.pushes(phone.push.token)) == before


def test_an_awake_phone_is_not_pushed(server, wire, simulator):
    phone = wire.phone(server, "purr-awake", "tcp", rfc8599_fcm())
    phone.uri += f";pn-purr={purr_of(phone.register())}"
    phone.answers["INFO"] = (200,)
    call = wire.call(server, "purr-awake")
    call.wait_status(200)
    assert call.wait_answer_to(call.request("INFO")).status == 200
    assert simulator.pushes(phone.push.token) == []


@pytest.mark.parametrize("method", ["BYE", "INFO"])
def test_a_phone_that_has_moved_to_another_connection_gets_the_request(server, wire, simulator, method):
    phone = wire.phone(server, f"purr-moved-{method.lower()}", "tcp", rfc8599_fcm())
    phone.uri += f";pn-purr={purr_of(phone.register())}"
    call = wire.call(server, phone.user)
    call.wait_status(200)
    phone.wait_request("ACK")
    phone.sleep()
    moved = wire.again(phone)
    moved.answers[method] = (200,)
    moved.register()
    cseq = call.request(method)
    assert "pn-purr=" in moved.wait_request(method).first_line, "the Request-URI is the dialog's own"
    assert call.wait_answer_to(cseq).status == 200
    assert simulator.pushes(phone.push.token) == []


def test_two_users_and_two_days_have_nothing_in_common(server, wire):
    one = purr_of(wire.phone(server, "purr-one", "udp", rfc8599_fcm()).register())
    two = purr_of(wire.phone(server, "purr-two", "udp", rfc8599_fcm()).register())
    assert one != two and min(len(one), len(two)) >= 22, "128 bits at least"


@pytest.mark.parametrize("stranger", ["0" * 32, "nobody's"])
def test_a_new_call_to_an_address_with_a_purr_that_nobody_has_wakes_its_user(server, wire, simulator, stranger):
    phone = wire.phone(server, f"purr-new-{stranger[0]}", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, f"{phone.user}", uri=f"sip:{phone.user}@127.0.0.1:{server.port};pn-purr={stranger}")
    simulator.wait_event(phone.push.token, "call")
    wire.again(phone).register()
    call.wait_status(200)
