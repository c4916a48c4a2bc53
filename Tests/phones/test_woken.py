# SPDX-License-Identifier: MIT
"""A killed phone is pushed, starts anew at another port, and rings."""

import pytest

from baresip import Baresip
from clock import AT_ONCE, within
from linphone import Linphone
from pjsip import PJSIP

TRANSPORTS = ["udp", "tcp", "tls"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_it_is_pushed_once_wakes_answers_and_is_hung_up(phones, user, stack, transport):
    phone = phones.make(stack, user, transport=transport).asleep()
    caller = phones.caller()
    caller.call(user)
    phone.wake().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.wait_packets()
    caller.hang_up()
    phone.wait_ended()
    caller.wait_ended()
    assert len(phone.rung) == len(phone.received("INVITE")) == len(phone.pushes()) == 1
    assert 110 in caller.statuses()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_it_hangs_up(phones, user, stack, transport):
    phone = phones.make(stack, user, transport=transport).asleep()
    caller = phones.caller(transport="tcp")
    caller.call(user)
    phone.wake().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    phone.hang_up()
    caller.wait_ended()
    phone.wait_ended()


@pytest.mark.parametrize("caller_stack, transport", [(Linphone, "tls"), (Linphone, "udp"), (Baresip, "tcp")])
def test_whoever_calls(phones, user, caller_stack, transport):
    phone = phones.make(PJSIP, user).asleep()
    caller = phones.caller(caller_stack, transport=transport)
    caller.call(user)
    phone.wake().wait_ringing()
    phone.answer()
    phone.wait_established()
    caller.wait_established()
    phone.wait_packets()
    caller.hang_up()
    phone.wait_ended()


@pytest.mark.parametrize("status", [486, 603])
def test_it_declines(phones, user, stack, status):
    if status not in stack.declines_with:
        pytest.skip(f"{stack.stack} cannot say {status}")
    phone = phones.make(stack, user).asleep()
    caller = phones.caller()
    caller.call(user)
    phone.wake().wait_ringing()
    phone.decline(status)
    with within(AT_ONCE):
        assert caller.wait_ended().code == status
    assert len(phone.rung) == 1


def test_the_caller_hangs_up_while_it_rings(phones, user, stack):
    phone = phones.make(stack, user).asleep()
    caller = phones.caller()
    caller.call(user)
    phone.wake().wait_ringing()
    caller.hang_up()
    with within(AT_ONCE):
        assert caller.wait_ended().code == 487
        phone.wait_ended()
    assert len(phone.received("CANCEL")) == 1


def test_it_wakes_for_every_call(phones, user, stack):
    phone = phones.make(stack, user, transport="tcp").asleep()
    caller = phones.caller()
    for _ in range(2):
        caller.call(user)
        phone.wake().wait_ringing()
        phone.answer()
        caller.wait_established()
        caller.hang_up()
        phone.wait_ended()
        caller.wait_ended()
        phone.kill()
    assert len(phone.pushes()) == 2
