# SPDX-License-Identifier: MIT
"""A phone that registers more than once as it wakes is one phone: it rings once, and its answer counts."""

import time

import pytest

from phones import mpush_android, no_push, rfc8599_fcm
from servers import AT_ONCE

STREAMS = pytest.mark.parametrize("transport", ["tcp", "tls"])
ALL = pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"silent_after": 2000}, wake_timeout=10)


@pytest.fixture
def pushed(server, wire, simulator):
    """A phone that sleeps and is called: the call, and the phone on a new socket, not yet registered."""
    def make(user, transport, method="INVITE"):
        phone = wire.phone(server, user, transport, rfc8599_fcm())
        phone.register()
        phone.sleep()
        caller = wire.caller(server)
        call = caller.call(user) if method == "INVITE" else caller.write(user)
        simulator.wait_push(phone.push.token)
        return call, wire.again(phone)

    return make


@pytest.fixture
def rung(pushed):
    """A phone that was pushed and has registered, and has given these answers to its INVITE: the call, phone and INVITE."""
    def make(user, transport, *answers):
        call, phone = pushed(user, transport)
        phone.answers["INVITE"] = answers
        phone.register()
        return call, phone, phone.wait_request("INVITE")

    return make


def switch_flow(wire, phone):
    """The same Contact and Call-ID over a new connection, not yet registered."""
    other = wire.again(phone, call_id=phone.call_id, contact=phone.uri)
    other.cseq = phone.cseq
    return other


def other_contact(phone, port=9):
    """Another address of the same device."""
    suffix = "" if phone.transport == "udp" else f";transport={phone.transport}"
    return f"<sip:{phone.user}@127.0.0.1:{port}{suffix}{phone.push.named(phone.push.contact)}>" \
           f';+sip.instance="<{phone.instance}>"'


@ALL
def test_another_contact_over_the_same_socket(server, pushed, transport):
    """As after the phone has learnt its public address: the answer to the first INVITE is on its way."""
    call, phone = pushed(f"same-socket-{transport}", transport)
    phone.register()
    phone.send_register(600, other_contact(phone))
    phone.wait_request("INVITE")
    call.wait_status(200)
    time.sleep(0.4)
    assert len(phone.requests("INVITE")) == 1
    assert set(call.statuses) <= {100, 110, 180, 200}


@pytest.mark.alone
@pytest.mark.parametrize("has_instance", [True, False], ids=["known by instance", "known by token"])
def test_the_first_contact_leads_nowhere(server, wire, simulator, has_instance):
    """As behind a NAT: the phone learns its public address from the answer to its first REGISTER."""
    phone = wire.phone(server, f"nowhere-{has_instance}", "udp", rfc8599_fcm(), instance=None if has_instance else "")
    phone.register()
    call = wire.call(server, phone.user)
    simulator.wait_push(phone.push.token)
    wrong = other_contact(phone) if has_instance else other_contact(phone).split(";+sip")[0]
    phone.register(600, wrong)
    registered = phone.register()
    assert 0.2 < phone.wait_request("INVITE").at - registered.at < 0.45
    call.wait_status(200)


@pytest.mark.alone
@ALL
def test_another_contact_over_a_new_socket(server, wire, rung, transport):
    call, first, _ = rung(f"new-socket-{transport}", transport)
    second = wire.again(first)
    second.answers["INVITE"] = (180,)
    registered = second.register()
    invite = second.wait_request("INVITE")
    assert invite.at - registered.at < AT_ONCE
    call.wait_status(180)
    second.answer(invite, 486)
    assert call.wait_final().status == 486
    assert call.final.at - second.endpoint.messages[-2].at < AT_ONCE
    if transport != "udp":
        first.wait_request("CANCEL")


@ALL
def test_the_old_contact_is_unregistered(server, wire, rung, transport):
    call, first, _ = rung(f"leaves-{transport}", transport)
    second = wire.again(first)
    second.register()
    first.unregister()
    second.wait_request("INVITE")
    call.wait_status(200)
    assert len(second.requests("INVITE")) == 1


@pytest.mark.alone
@STREAMS
def test_a_flow_switch(server, wire, rung, transport):
    """Before any answer: the INVITE again, over the new connection."""
    call, first, _ = rung(f"flow-{transport}", transport)
    second = switch_flow(wire, first)
    registered = second.register()
    assert second.wait_request("INVITE").at - registered.at < AT_ONCE
    call.wait_status(200)
    assert len(second.requests("INVITE")) == 1


@STREAMS
def test_a_flow_switch_after_the_connection_broke(server, wire, rung, transport):
    call, first, _ = rung(f"broken-{transport}", transport)
    first.endpoint.reset()
    second = switch_flow(wire, first)
    second.register()
    second.wait_request("INVITE")
    call.wait_status(200)


@pytest.mark.alone
def test_the_same_datagram_again_until_something_was_heard(server, rung):
    call, phone, first = rung("refresh", "udp")
    refreshed = phone.register()
    again = phone.wait_request("INVITE", count=2)
    assert again.text == first.text
    assert again.at - refreshed.at < AT_ONCE, "that was tm's own retransmission"
    phone.answer(first, 100)
    time.sleep(0.1)
    count = len(phone.received("INVITE"))
    phone.register()
    time.sleep(0.2)
    assert len(phone.received("INVITE")) == count
    phone.answer(first, 200)
    call.wait_status(200)


@STREAMS
def test_nothing_is_sent_twice_over_one_connection(server, rung, transport):
    call, phone, invite = rung(f"stream-{transport}", transport)
    phone.register()
    time.sleep(0.4)
    assert len(phone.received("INVITE")) == 1
    phone.answer(invite, 200)
    call.wait_status(200)


@ALL
@pytest.mark.parametrize("answer", [200, 486])
def test_a_refresh_while_it_rings(server, rung, transport, answer):
    """A branch_route that takes the alias of a phone behind a NAT out of the Request-URI makes no other phone of it."""
    call, phone, invite = rung(f"rings-{answer}-{transport}", transport, 180)
    assert "alias" not in invite.first_line
    call.wait_status(180)
    phone.register()
    time.sleep(0.4)
    assert len(phone.received("INVITE")) == 1
    phone.answer(invite, answer)
    assert call.wait_final().status == answer


@pytest.mark.alone
@ALL
def test_its_486_ends_the_call_at_once(server, wire, rung, transport):
    call, first, _ = rung(f"busy-{transport}", transport)
    second = wire.again(first)
    second.answers["INVITE"] = (486,)
    second.register()
    busy = call.wait_status(486)
    assert busy.at - second.wait_request("INVITE").at < AT_ONCE
    server.wait_none_held()


@pytest.mark.alone
@ALL
def test_its_call_can_be_cancelled(server, wire, rung, transport):
    call, first, _ = rung(f"hangup-{transport}", transport)
    second = wire.again(first)
    second.answers["INVITE"] = (180,)
    second.register()
    call.wait_status(180)
    at = call.cancel()
    assert call.wait_final().status == 487
    assert call.final.at - at < AT_ONCE
    assert len(second.requests("CANCEL")) == 1


@ALL
def test_a_message_arrives_once(server, wire, pushed, transport):
    message, first = pushed(f"message-{transport}", transport, "MESSAGE")
    first.register()
    second = wire.again(first)
    second.register()
    assert message.wait_final().status == 200
    time.sleep(0.3)
    assert len(first.requests("MESSAGE")) + len(second.requests("MESSAGE")) == 1


@pytest.mark.parametrize("status", [200, 486])
def test_an_app_that_says_its_token_only_when_it_starts_is_the_one_that_was_pushed(server, wire, simulator, status):
    """X-MPUSH is a header of its own, and the app has no instance: nothing of it is in the REGISTER that a push causes."""
    phone = wire.phone(server, f"terse-{status}", "tcp", mpush_android(), instance="")
    phone.register()
    phone.sleep()
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.push = no_push()
    woken.answers["INVITE"] = (180, status)
    woken.register()
    final = call.wait_final(5)
    assert final.status == status
    server.wait_none_held()
    time.sleep(0.3)
    assert simulator.events(phone.push.token) == ["call"], "it is told of the end of the call that it has had"


@pytest.mark.parametrize("status", [200, 486])
def test_an_app_with_a_new_instance_at_each_start_is_the_one_that_was_pushed(server, wire, simulator, status):
    """Its token says so. It hears nothing of the call that it takes, and nobody waits for the one that it was."""
    user = f"renamed-{status}"
    phone = wire.phone(server, user, "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, user)
    simulator.wait_push(phone.push.token)
    woken = wire.phone(server, user, "udp", phone.push)
    woken.answers["INVITE"] = (180, status)
    woken.register()
    assert call.wait_final().status == status
    assert call.final.at - call.sent_at < 2, "the caller waits for no other phone"
    server.wait_none_held()
    assert simulator.events(phone.push.token) == ["call"]
