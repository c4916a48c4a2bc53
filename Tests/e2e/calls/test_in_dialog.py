# SPDX-License-Identifier: MIT
"""Requests within a call wake the phone that they are for (RFC 8599, 6)."""

import re

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import CALLS


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


@pytest.fixture(scope="module")
def watching(make_server):
    """tm ends what nobody answers before the wait is over."""
    config = CALLS.read_text().replace("@SETTINGS@", 'modparam("tm", "fr_timer", 1200)\n@SETTINGS@')
    return make_server(config=config, settings={"purr": 1, "silent_after": 300}, wake_timeout=2)


@pytest.fixture
def suspended(watching, wire, simulator):
    """Makes a call whose phone is suspended behind its open connection."""
    def make(user, transport="tcp"):
        call, phone, purr = answered_call(watching, wire, simulator, wire.phone(watching, user, transport, rfc8599_fcm()), user)
        phone.wait_request("ACK")
        phone.suspend()
        return call, phone, purr, len(simulator.pushes(phone.push.token))

    return make


@pytest.mark.parametrize("method, transport", [("NOTIFY", "tcp"), ("INVITE", "tcp"), ("BYE", "tcp"), ("INFO", "tls")])
def test_a_suspended_app_is_pushed_and_gets_the_request_where_it_registers_next(
        wire, simulator, suspended, method, transport):
    call, phone, purr, before = suspended(f"purr-suspended-{method.lower()}-{transport}", transport)
    cseq = call.request(method)
    simulator.wait_push(phone.push.token, after=before)
    woken = wire.again(phone)
    woken.answers[method] = woken.answers["MESSAGE"] = (200,)
    woken.uri += f";pn-purr={purr}"
    woken.register()
    assert f"pn-purr={purr}" in woken.wait_request(method).first_line, "the Request-URI is the dialog's own"
    assert call.wait_answer_to(cseq).status == 200
    phone.resume()
    assert call.wait_answer_to(call.request("MESSAGE", woken.uri)).status == 200, "the dialog goes on"
    assert len(simulator.pushes(phone.push.token)) == before + 1


@pytest.mark.parametrize("method", ["INFO", "INVITE"])
def test_a_suspended_app_does_not_come_and_only_the_transaction_fails(suspended, method):
    """RFC 5057, 5.1: 408 would end the dialog."""
    call, _, _, _ = suspended(f"purr-stays-{method.lower()}")
    assert call.wait_answer_to(call.request(method), 8).status == 504


@pytest.mark.parametrize("method", ["INFO", "INVITE"])
def test_an_engine_that_ends_meanwhile_ends_no_dialog(make_engine, make_kamailio, wire, simulator, tmp_path, method):
    """RFC 5057, 5.1: 408 would."""
    socket = tmp_path / "engine.sock"
    settings = {"purr": 1, "silent_after": 300, "awake_for": 0}
    engine = make_engine(engine_socket=socket, wake_timeout=3, **settings, **simulator.settings())
    config = CALLS.read_text().replace("@SETTINGS@", 'modparam("tm", "fr_timer", 1200)\n@SETTINGS@')
    server = make_kamailio(config=config, wake_timeout=3, settings={
        "engine_mode": "external", "engine_socket": str(socket), **settings}).start().wait_engine()
    phone = wire.phone(server, f"purr-bereft-{method.lower()}", "tcp", rfc8599_fcm())
    call, phone, _ = answered_call(server, wire, simulator, phone, phone.user)
    phone.wait_request("ACK")
    phone.suspend()
    before = len(simulator.pushes(phone.push.token))
    cseq = call.request(method)
    simulator.wait_push(phone.push.token, after=before)
    engine.stop()
    assert call.wait_answer_to(cseq, 15).status == 504


@pytest.mark.parametrize("is_pushed", [False, True])
def test_a_caller_takes_a_request_to_a_suspended_app_back(suspended, wire, simulator, is_pushed):
    call, phone, _, before = suspended(f"purr-back-{is_pushed}".lower())
    cseq = call.request("INVITE")
    call.wait_status(100)
    if is_pushed:
        simulator.wait_push(phone.push.token, after=before)
    call.cancel()
    assert call.wait_answer_to(cseq).status == 487
    assert call.wait_answer_to(f"{call.cseq} CANCEL").status == 200


def test_a_phone_that_is_awake_hears_no_more_than_before(watching, wire, simulator):
    """Whoever answers within `silent_after` is not pushed; nor is who takes longer, and has said 100."""
    call, phone, _ = answered_call(
        watching, wire, simulator, wire.phone(watching, "purr-there", "tcp", rfc8599_fcm()), "purr-there")
    before = len(simulator.pushes(phone.push.token))
    phone.answers["INVITE"] = (100,)
    cseq = call.request("INVITE")
    again = phone.wait_request("INVITE", count=2)
    phone.answers["INFO"] = (488,)
    info = call.wait_answer_to(call.request("INFO"))
    assert info.status == 488
    phone.answer(again, 200)
    assert call.wait_answer_to(cseq).status == 200
    assert len(phone.requests("INVITE")) == 2
    assert len(simulator.pushes(phone.push.token)) == before
