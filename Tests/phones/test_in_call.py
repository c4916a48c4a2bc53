# SPDX-License-Identifier: MIT
"""What happens inside a call that a push began."""

import pytest

from linphone import Linphone


@pytest.fixture(params=["udp", "tls"])
def talking(request, phones, user, stack):
    """A woken phone and its caller, who talk."""
    phone = phones.make(stack, user, transport=request.param).asleep()
    caller = phones.caller()
    caller.call(user)
    phone.wake().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.wait_packets()  # an offer of its own that PJSIP may add to its call is answered by now
    return phone, caller


def test_the_phone_holds_and_the_caller_ends(talking):
    phone, caller = talking
    phone.hold()
    caller.wait_held()
    phone.unhold()
    caller.wait_held(False)
    caller.hang_up()
    phone.wait_ended()


def test_the_caller_holds_and_the_phone_ends(talking):
    phone, caller = talking
    caller.hold()
    phone.wait_held()
    caller.unhold()
    phone.wait_held(False)
    phone.hang_up()
    caller.wait_ended()


@pytest.fixture(scope="module")
def without_aliases(make_shared_proxy):
    """With these an alias in the Contact leads to the phone, whatever else stands there."""
    return make_shared_proxy(parts=("WITH_AUTH",))


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_linphone_can_be_hung_up(phones, user, without_aliases, transport):
    """With `gruu_enabled` of the registrar, its default, Linphone puts its GRUU into the call; the BYE goes nowhere."""
    phone = phones.make(Linphone, user, transport=transport, proxy=without_aliases).asleep()
    caller = phones.caller(proxy=without_aliases)
    caller.call(user)
    phone.wake().wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.hang_up()
    phone.wait_ended()
    bye = next(m for m in caller.trace() if m.sent and m.method == "BYE")
    assert ";gr" not in bye.first_line
