# SPDX-License-Identifier: MIT
"""Phones of an Asterisk that knows nothing of push, registered through the gateway of docs/gateway.md."""

import pytest

from linphone import Linphone
from pbx import USERS
from pjsip import PJSIP
from upper import GatewayForPhones, Server

NUMBERS = iter(USERS)
EXPIRES = 12
"""Seconds that Asterisk keeps a registration here; usually an hour."""

STACKS = [PJSIP, Linphone]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server()
    try:
        yield server.start(tmp_path_factory.mktemp("asterisk"))
    finally:
        server.stop()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, server):
    gateway = GatewayForPhones(tmp_path_factory.mktemp("gateway"), server, upper_expire=EXPIRES)
    yield gateway.start()
    gateway.stop()


@pytest.fixture
def gateway_phones(tmp_path, server, gateway):
    """Makes phones that have the gateway as outbound proxy, and ends what is left of them."""
    made = []

    def make(stack, transport="udp", **options):
        user = next(NUMBERS)
        phone = stack(gateway, user, tmp_path, server.simulator, transport=transport, password=f"{user}-secret",
                      domain=gateway.domain, **options)
        made.append(phone)
        return phone

    yield make
    for phone in made:
        phone.kill()


def pytest_generate_tests(metafunc):
    if "gateway_stack" in metafunc.fixturenames:
        metafunc.parametrize("gateway_stack", STACKS, ids=lambda stack: stack.stack)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("end", ["phone", "caller"])
def test_a_killed_phone_wakes_rings_talks_and_is_hung_up(gateway_phones, gateway_stack, server, transport, end):
    phone = gateway_phones(gateway_stack, transport).asleep()
    assert len(server.contacts(phone.user)) == 1
    caller = gateway_phones(PJSIP).start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.wait_packets()
    phone.wait_packets()
    first, second = (phone, caller) if end == "phone" else (caller, phone)
    first.hang_up()
    second.wait_ended()
    first.wait_ended()
    assert len(phone.rung) == len(phone.received("INVITE")) == len(phone.pushes()) == 1
    assert len(server.contacts(phone.user)) == 1


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_stopped_phone_wakes_and_rings(gateway_phones, gateway_stack, transport):
    phone = gateway_phones(gateway_stack, transport).start().registered()
    phone.suspend()
    caller = gateway_phones(PJSIP).start().registered()
    caller.call(phone.user)
    phone.wait_push()
    # What an app does that is pushed.
    phone.resume().refresh()
    phone.wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.hang_up()
    phone.wait_ended()
    assert len(phone.rung) == 1


def test_it_rings_when_the_caller_gives_up_and_calls_again(gateway_phones, gateway_stack):
    phone = gateway_phones(gateway_stack, "tcp").asleep()
    caller = gateway_phones(PJSIP).start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    caller.hang_up()
    assert caller.wait_ended().code == 487
    phone.wait_ended()
    caller.call(phone.user)
    phone.wait("it rings again", lambda: len(phone.rung) == 2)
    phone.wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.hang_up()
    caller.wait_ended()


def test_it_is_registered_while_it_sleeps(gateway_phones, gateway_stack, server):
    """PJSIP and Linphone send no X-PIID: the gateway wakes them before their registration ends."""
    phone = gateway_phones(gateway_stack, "tcp").asleep()
    phone.wait_push(seconds=EXPIRES)
    phone.kill().start().registered().kill()
    assert len(server.contacts(phone.user)) == 1


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_message_comes_each_way(gateway_phones, gateway_stack, transport):
    phone = gateway_phones(gateway_stack, transport).asleep()
    other = gateway_phones(Linphone if gateway_stack is PJSIP else PJSIP, "tcp").start().registered()
    other.send_message(phone.user, "are you there?")
    phone.wake().wait_message()
    assert phone.messages == ["are you there?"]
    assert other.wait_sent() in (200, 202)
    phone.send_message(other.user, "here I am")
    other.wait_message()
    assert other.messages == ["here I am"] and phone.wait_sent() in (200, 202)
