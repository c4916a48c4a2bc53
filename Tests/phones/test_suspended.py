# SPDX-License-Identifier: MIT
"""A suspended app: its connection stands and takes an INVITE that nobody reads."""

import pytest

from clock import within

CONNECTIONS = ["tcp", "tls"]
SILENT_AFTER = 1.5  # the default of the setting


@pytest.mark.parametrize("transport", CONNECTIONS)
def test_it_is_pushed_when_it_stays_silent_and_rings_at_its_new_connection(phones, user, stack, transport):
    phone = phones.make(stack, user, transport=transport).start().registered().suspend()
    caller = phones.caller()
    caller.call(user)
    with within(SILENT_AFTER + 1, at_least=SILENT_AFTER - 0.5):
        phone.wait_push()
    phone.kill().start().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.hang_up()
    phone.wait_ended()
    assert len(phone.rung) == len(phone.received("INVITE")) == len(phone.pushes()) == 1


@pytest.mark.parametrize("transport", CONNECTIONS)
def test_the_push_resumes_it_and_it_rings_once(phones, user, stack, transport):
    phone = phones.make(stack, user, transport=transport).start().registered().suspend()
    caller = phones.caller()
    caller.call(user)
    phone.wait_push()
    phone.resume()
    if stack.refreshes:
        phone.refresh()
    phone.wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    phone.hang_up()
    caller.wait_ended()
    assert len(phone.rung) == len(phone.received("INVITE")) == 1


@pytest.mark.parametrize("transport", CONNECTIONS)
def test_one_that_is_awake_is_not_pushed(phones, user, stack, transport):
    phone = phones.make(stack, user, transport=transport).start().registered()
    caller = phones.caller()
    caller.call(user)
    phone.wait_ringing()
    with within(5, at_least=0):
        caller.wait_state("early")
    phone.answer()
    caller.wait_established()
    assert phone.pushes() == []


def test_the_caller_hangs_up_on_a_suspended_phone_and_it_does_not_ring_later(phones, user, stack):
    phone = phones.make(stack, user, transport="tcp").start().registered().suspend()
    caller = phones.caller()
    caller.call(user)
    phone.wait_push()
    caller.hang_up()
    with within(1):
        assert caller.wait_ended().code == 487
    phone.kill().start().registered()
    caller.send_message(user, "the next thing that comes")
    phone.wait_message()
    assert phone.rung == [] and phone.received("INVITE") == []
