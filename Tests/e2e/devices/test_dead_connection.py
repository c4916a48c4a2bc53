# SPDX-License-Identifier: MIT
"""The connection that a request was sent into ends before any answer: an app whose socket the system took back."""

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"silent_after": 3000}, wake_timeout=10)


def reset(phone):
    phone.endpoint.reset()


def killed(phone):
    """What lies unread in its socket makes the kernel answer with RST."""
    phone.endpoint.close()


def closed(phone):
    """It has read the request before it ends the connection in good order."""
    phone.resume()
    phone.wait_request("INVITE")
    phone.endpoint.close()


TRANSPORTS = pytest.mark.parametrize("transport", ["tcp", "tls"])
ENDINGS = pytest.mark.parametrize("ending", [reset, killed, closed])


def register(wire, server, user, transport, push=None):
    phone = wire.phone(server, user, transport, push or rfc8599_fcm())
    phone.answers["INVITE"] = ()
    phone.register()
    phone.suspend()
    return phone


@pytest.mark.alone
@TRANSPORTS
@ENDINGS
def test_the_phone_is_pushed_at_once(server, wire, simulator, transport, ending):
    phone = register(wire, server, f"{ending.__name__}-{transport}", transport)
    call = wire.call(server, phone.user)
    ended = phone.endpoint.wait_data()
    ending(phone)
    assert simulator.wait_event(phone.push.token, "call") - ended < AT_ONCE
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)
    assert simulator.events(phone.push.token) == ["call"]


@pytest.fixture(scope="module")
def refusing(make_server, make_provider):
    provider = make_provider({"token": "ee403*", "status": 403, "reason": "BadCertificate"})
    return make_server(provider, settings={"silent_after": 3000}, wake_timeout=20)


@pytest.mark.alone
@TRANSPORTS
def test_with_a_refused_push_the_caller_hears_it_at_once(refusing, wire, transport):
    push = rfc8599_apns()
    push.token = "ee403" + push.token[5:]
    phone = register(wire, refusing, f"nat-refused-{transport}", transport, push)
    call = wire.call(refusing, phone.user)
    ended = phone.endpoint.wait_data()
    phone.endpoint.reset()
    assert call.wait_final().status == 480
    assert call.final.at - ended < AT_ONCE
    refusing.wait_log(f"ASLEEP {phone.user}")


@TRANSPORTS
@pytest.mark.parametrize("status", [100, 180])
def test_after_a_provisional_answer_it_may_answer_over_another_connection(server, wire, simulator, transport, status):
    """RFC 3261, 18.2.2: an answer takes another connection when the first is gone."""
    phone = wire.phone(server, f"moves-{status}-{transport}", transport, rfc8599_fcm())
    phone.register()
    phone.answers["INVITE"] = (status,)
    call = wire.call(server, phone.user)
    invite = phone.wait_request("INVITE")
    phone.sleep()
    other = wire.again(phone)
    other.answer(invite, 200)
    call.wait_status(200)
    assert simulator.pushes(phone.push.token) == []


@pytest.mark.alone
def test_a_message_is_pushed_for_at_once(server, wire, simulator):
    phone = register(wire, server, "message", "tcp")
    message = wire.caller(server).write(phone.user)
    ended = phone.endpoint.wait_data()
    phone.endpoint.reset()
    assert simulator.wait_event(phone.push.token, "chat") - ended < AT_ONCE
    woken = wire.again(phone)
    woken.register()
    assert message.wait_final().status == 200


@pytest.mark.alone
def test_another_phone_rings_on(server, wire, simulator):
    desk = wire.phone(server, "both", "udp")
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = register(wire, server, "both", "tcp")
    call = wire.call(server, "both")
    ringing = desk.wait_request("INVITE")
    ended = mobile.endpoint.wait_data()
    mobile.endpoint.reset()
    assert simulator.wait_event(mobile.push.token, "call") - ended < AT_ONCE
    desk.answer(ringing, 200)
    call.wait_status(200)
    simulator.wait_event(mobile.push.token, "elsewhere")


@pytest.mark.alone
def test_the_next_contact_of_serial_forking_is_tried_at_once(server, wire):
    first = wire.phone(server, "serial", "tcp", rfc8599_fcm())
    first.answers["INVITE"] = ()
    first.register(600, f"{first.contact};q=0.9")
    second = wire.phone(server, "serial", "udp")
    second.register(600, f"{second.contact};q=0.5")
    first.suspend()
    call = wire.call(server, "serial", "X-Serial: 1")
    ended = first.endpoint.wait_data()
    first.endpoint.reset()
    assert second.wait_request("INVITE").at - ended < AT_ONCE
    call.wait_status(200)
