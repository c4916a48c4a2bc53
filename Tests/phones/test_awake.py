# SPDX-License-Identifier: MIT
"""Phones that are awake: what must work before anything can sleep."""

import pytest

from phones import no_push

TRANSPORTS = ["udp", "tcp", "tls"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_phone_registers_and_talks(phones, user, stack, transport):
    # Over UDP nothing tells that a phone with a push binding is awake, so that it is pushed.
    push = no_push() if transport == "udp" else None
    phone = phones.make(stack, user, transport=transport, push=push).start().registered()
    caller = phones.caller()
    caller.call(user)
    phone.wait_ringing()
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.wait_packets()
    caller.hang_up()
    phone.wait_ended()
    assert len(phone.received("INVITE")) == 1
