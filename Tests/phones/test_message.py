# SPDX-License-Identifier: MIT
"""A MESSAGE to a phone that sleeps."""

import pytest

from linphone import Linphone
from pjsip import PJSIP


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
@pytest.mark.parametrize("sender_stack", [PJSIP, Linphone])
def test_it_arrives_once_when_the_phone_wakes(phones, user, stack, transport, sender_stack):
    phone = phones.make(stack, user, transport=transport).asleep()
    sender = phones.caller(sender_stack)
    sender.send_message(user, "are you there?")
    phone.wake().wait_message()
    assert sender.wait_sent() in (200, 202)
    assert phone.messages == ["are you there?"] and len(phone.received("MESSAGE")) == len(phone.pushes()) == 1


def test_the_next_one_comes_without_a_push(phones, user, stack):
    phone = phones.make(stack, user, transport="tcp").asleep()
    sender = phones.caller()
    sender.send_message(user, "first")
    phone.wake().wait_message()
    sender.wait_sent()
    sender.send_message(user, "second")
    phone.wait("the second message", lambda: "second" in phone.messages)
    assert phone.messages == ["first", "second"] and len(phone.pushes()) == 1
