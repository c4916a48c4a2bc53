# SPDX-License-Identifier: MIT
"""A phone with several connections to its registrar has a request over one of them. It refuses a second copy with 482, as
RFC 3261, 8.2.2.2 has it and PJSIP, Linphone and baresip do; its call must not end by that."""

import time

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE, wait_until

GAPS = pytest.mark.parametrize("gap", [0, 0.01, 0.1, 0.4])
OUTBOUND = (600, None, "Supported: outbound, path")


@pytest.fixture(scope="module")
def provider(make_provider):
    return make_provider({"token": "aa403*", "status": 403, "reason": "InvalidProviderToken", "delay_ms": 150})


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(wake_timeout=8)


def merge(phones):
    """They are one app, which takes a request once."""
    seen = {}

    def hook(phone):
        take = phone.endpoint.on_request

        def on_request(message):
            call_id, via = message.headers("Call-ID")[0], message.headers("Via")[0]
            if message.method == "INVITE" and seen.setdefault(call_id, via) != via:
                phone.answer(message, 482)
            else:
                take(message)

        phone.endpoint.on_request = on_request

    for phone in phones:
        phone.answers["INVITE"] = (180,)
        hook(phone)
    return phones


def flows(wire, phone, transport="tcp", count=2):
    """Flows of the same app, not yet registered."""
    made = []
    for number in range(1, count + 1):
        flow = wire.again(phone, transport)
        flow.parameters = f";reg-id={number}"
        made.append(flow)
    return made


@pytest.fixture
def pushed(server, wire, simulator):
    """A phone that sleeps and is called: the call, and the phone."""
    def make(user, parameters=""):
        phone = wire.phone(server, user, "tcp", rfc8599_fcm())
        phone.parameters = parameters
        phone.register(*OUTBOUND)
        phone.sleep()
        call = wire.call(server, user)
        simulator.wait_event(phone.push.token, "call")
        return call, phone

    return make


def ringing(phones):
    cancelled = {cancel.headers("Via")[0] for phone in phones for cancel in phone.requests("CANCEL")}
    return [(phone, invite) for phone in phones for invite in phone.requests("INVITE")
            if not phone.has_answered(invite) and invite.headers("Via")[0] not in cancelled]


def is_answered(server, call, phones):
    """It rings on one connection, for as long as a second copy could take, and there it is answered."""
    call.wait_status(180)
    time.sleep(0.4)
    assert call.final is None, call.transcript()
    assert len(ringing(phones)) == 1
    phone, invite = ringing(phones)[0]
    phone.answer(invite, 200)
    call.wait_status(200)
    call.hang_up()
    server.wait_none_held()
    return phone


@GAPS
def test_it_comes_back_over_two_flows(server, wire, pushed, gap):
    """RFC 5626: reg-id 1 and 2, a Call-ID each."""
    call, phone = pushed(f"flows-{gap}", ";reg-id=1")
    both = merge(flows(wire, phone))
    for flow in both:
        flow.send_register(*OUTBOUND)
        time.sleep(gap)
    is_answered(server, call, both)
    assert sum(len(flow.requests("INVITE")) for flow in both) == 1


@GAPS
@pytest.mark.parametrize("is_same_run", [True, False])
def test_it_comes_back_over_udp_and_tcp(server, wire, pushed, gap, is_same_run):
    call, phone = pushed(f"both-{gap}-{is_same_run}")
    call_id = f"run-{phone.user}" if is_same_run else None
    both = merge([wire.again(phone, transport, call_id=call_id) for transport in ("udp", "tcp")])
    for number, way in enumerate(both):
        way.cseq = number
        way.send_register()
        time.sleep(gap)
    is_answered(server, call, both)


@pytest.mark.parametrize("transport", ["tcp", "tls"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("has_numbers", [True, False], ids=["reg-id", "plain"])
def test_one_connection_refreshes_while_the_other_rings(server, wire, which, transport, has_numbers):
    user = f"refresh-{transport}-{which}-{has_numbers}"
    first = wire.phone(server, user, transport, rfc8599_fcm())
    both = merge([first, wire.again(first)])
    for number, flow in enumerate(both, 1):
        if has_numbers:
            flow.parameters = f";reg-id={number}"
        flow.register(*OUTBOUND)
    call = wire.call(server, user)
    call.wait_status(180)
    both[which].register(*OUTBOUND)
    is_answered(server, call, both)
    if has_numbers:  # without them the registrar has forgotten the contact that the second one replaced
        assert sum(len(flow.requests("INVITE")) for flow in both) == 1


def test_an_app_that_was_started_anew_rings_although_its_old_connection_is_open(server, wire, pushed):
    call, phone = pushed("anew")
    old = wire.again(phone)
    old.answers["INVITE"] = (180,)
    old.register()
    old.wait_request("INVITE")
    call.wait_status(180)
    time.sleep(0.35)
    new = wire.again(phone)
    new.answers["INVITE"] = (180,)
    registered = new.register()
    assert new.wait_request("INVITE").at - registered.at < AT_ONCE
    old.wait_request("CANCEL")
    assert is_answered(server, call, [old, new]) is new


def test_its_first_connection_breaks_while_it_is_asked_over_the_second(server, wire, pushed):
    """Nothing was heard over the first: the second copy is what rings."""
    call, phone = pushed("breaks")
    old, new = wire.again(phone), wire.again(phone)
    old.answers["INVITE"] = new.answers["INVITE"] = ()
    old.register()
    old.wait_request("INVITE")
    new.register()
    invite = new.wait_request("INVITE")
    old.endpoint.reset()
    time.sleep(0.3)
    new.answer(invite, 180)
    call.wait_status(180)
    new.answer(invite, 486)
    assert call.wait_final().status == 486
    server.wait_none_held()


@pytest.mark.parametrize("gap", [0, 0.1])
def test_a_message_comes_over_one_flow(server, wire, simulator, gap):
    """Its app takes longer than a moment to answer."""
    phone = wire.phone(server, f"message-{gap}", "tcp", rfc8599_fcm())
    phone.parameters = ";reg-id=1"
    phone.register(*OUTBOUND)
    phone.sleep()
    message = wire.caller(server).write(phone.user, "once")
    simulator.wait_push(phone.push.token)
    both = flows(wire, phone)
    for flow in both:
        flow.answers["MESSAGE"] = ()
        flow.send_register(*OUTBOUND)
        time.sleep(gap)
    time.sleep(0.6)
    taken = [(flow, request) for flow in both for request in flow.requests("MESSAGE")]
    assert len(taken) == 1
    taken[0][0].answer(taken[0][1], 200)
    assert message.wait_final().status == 200
    server.wait_none_held()


@pytest.mark.alone
def test_a_refused_push_and_a_register_at_once(make_server, wire, provider):
    """The registrar knows the new address before the engine does: the leg to the known contact goes there already."""
    server = make_server(provider, wake_timeout=20)
    late = 0.1545
    for number in range(40):
        push = rfc8599_apns()
        push.token = "aa403" + push.token[5:]
        old = wire.phone(server, f"beside-{number}", "udp", push)
        old.answers["INVITE"] = (100,)
        old.register()
        (new,) = merge([wire.again(old)])
        call = wire.call(server, old.user)
        # Around the moment in which the known contact is rung, which the calls before show.
        at = late + (number % 20 - 10) * 0.0002
        wait_until("the moment", lambda: time.time() >= call.sent_at + at, step=0.0001)  # noqa: B023
        new.send_register()
        call.wait_status(180)
        time.sleep(0.1)
        assert call.final is None
        assert len(ringing([new])) == 1
        if old.requests("INVITE"):
            late = 0.7 * late + 0.3 * (old.requests("INVITE")[0].at - call.sent_at - 0.0003)
        call.cancel()
        assert call.wait_final().status == 487
    server.wait_none_held()
