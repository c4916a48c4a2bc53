# SPDX-License-Identifier: MIT
"""The caller hangs up before anybody has answered."""

import pytest

from baresip import Baresip
from clock import AT_ONCE, within
from linphone import Linphone
from pjsip import PJSIP


def nothing_rings(phone, caller):
    """The phone takes the next request that comes, and that was not the call."""
    caller.send_message(phone.user, "the next thing that comes")
    phone.wait_message()
    assert phone.rung == [] and phone.received("INVITE") == []


def test_one_rings_and_another_is_awaited(phones, user, stack):
    ringing = phones.make(stack, user, transport="tcp").start().registered()
    awaited = phones.make(stack, user, transport="tcp").asleep()
    caller = phones.caller()
    caller.call(user)
    ringing.wait_ringing()
    awaited.wait_push()
    caller.hang_up()
    with within(AT_ONCE):
        assert caller.wait_ended().code == 487
        ringing.wait_ended()
    assert len(ringing.received("CANCEL")) == 1
    awaited.start().registered()
    nothing_rings(awaited, caller)


@pytest.mark.parametrize("caller_stack", [PJSIP, Linphone, Baresip])
def test_all_are_awaited(phones, user, caller_stack):
    phone = phones.make(PJSIP, user, transport="tcp").asleep()
    caller = phones.caller(caller_stack)
    caller.call(user)
    phone.wait_push()
    caller.hang_up()
    with within(AT_ONCE):
        caller.wait_ended()
        caller.wait("the 487", lambda: 487 in caller.statuses())
    phone.start().registered()
    nothing_rings(phone, phones.caller())


@pytest.mark.parametrize("caller_stack", [PJSIP, Linphone, Baresip])
def test_a_phone_that_has_woken_rings(phones, user, caller_stack):
    phone = phones.make(PJSIP, user).asleep()
    caller = phones.caller(caller_stack, transport="tcp")
    caller.call(user)
    phone.wake().wait_ringing()
    caller.wait_state("early")
    caller.hang_up()
    with within(AT_ONCE):
        phone.wait_ended()
        caller.wait("the 487", lambda: 487 in caller.statuses())
    assert len(phone.received("CANCEL")) == 1
