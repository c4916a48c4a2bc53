# SPDX-License-Identifier: MIT
"""No push gets through: who can be rung is rung, and who cannot keeps nobody waiting."""

import uuid

import pytest

from clock import AT_ONCE, within
from phones import Push, apns_token

APNS = ";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@TOKEN@"
FCM = ";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@TOKEN@"

# How each push ends is in its token, see the simulator and conftest.py.
FAILURES = {
    "410": lambda: Push("token gone", f"unregistered{apns_token()}", contact=APNS),
    "403": lambda: Push("forbidden", f"forbidden{uuid.uuid4().hex}", contact=FCM),
    "500": lambda: Push("broken", f"broken{uuid.uuid4().hex}", contact=FCM),
    "refused": lambda: Push("nobody listens", apns_token(), contact=APNS.replace("=apns;", "=apns.dev;")),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_the_phone_is_awake_all_the_same_and_rings_at_its_known_contact(phones, user, stack, failure):
    phone = phones.make(stack, user, push=FAILURES[failure]()).start().registered()
    caller = phones.caller()
    caller.call(user)
    with within(AT_ONCE):
        phone.wait_ringing()
    phone.answer()
    caller.wait_established()
    caller.hang_up()
    phone.wait_ended()
    assert len(phone.rung) == len(phone.received("INVITE")) == 1


# A refused connection is tried once more: at once for the first call, at most two seconds after the last attempt for others.
ENDINGS = pytest.mark.parametrize("failure, seconds", [("410", AT_ONCE), ("403", AT_ONCE), ("500", AT_ONCE), ("refused", 3)])


@ENDINGS
def test_the_phone_is_dead_and_the_caller_hears_480(phones, user, failure, seconds, stack):
    phones.make(stack, user, transport="tcp", push=FAILURES[failure]()).asleep()
    caller = phones.caller()
    with within(seconds):
        caller.call(user)
        assert caller.wait_ended().code == 480


@ENDINGS
def test_the_phone_has_signed_off_and_the_caller_hears_480(phones, user, failure, seconds, stack):
    phones.make(stack, user, push=FAILURES[failure]()).start().registered().sign_off()
    caller = phones.caller()
    with within(seconds):
        caller.call(user)
        assert caller.wait_ended().code == 480


@pytest.mark.parametrize("failure", ["410", "403"])
def test_the_other_phone_is_awaited(phones, user, failure, stack):
    phones.make(stack, user, transport="tcp", push=FAILURES[failure]()).asleep()
    other = phones.make(stack, user).asleep()
    caller = phones.caller()
    caller.call(user)
    other.wake().wait_ringing()
    other.answer()
    caller.wait_established()
