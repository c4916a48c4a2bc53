# SPDX-License-Identifier: MIT
"""Phones that register more than once when they wake, since the first answer tells them where they are.

PJSIP replaces a Contact that is not the address the server saw: in one REGISTER with both, or by unregistering
first. Linphone puts the port of its connection into its Contact in place of the one it listens at, or, when it
listens nowhere as on a mobile phone, of "-2". Mostly without a challenge: a 401 tells the address as well, and
PJSIP's default and Linphone learn it there.

The second REGISTER comes a millisecond after the first. Of a second INVITE that finds the first one there PJSIP says
482 and Linphone 486.
"""

import dataclasses

import pytest

from clock import AT_ONCE, within
from linphone import LISTENS_NOWHERE, LISTENS_SOMEWHERE, Linphone
from pjsip import PJSIP, REPLACE, REPLACE_EARLY, UNREGISTER

# An address of this machine that the phone does not listen at, or does.
ELSEWHERE = {"published": "127.9.9.9"}
BOTH = {"published": "127.9.9.9", "bind": "0.0.0.0"}


@dataclasses.dataclass
class Habit:
    name: str
    stack: type
    transport: str
    quirks: dict
    parts: tuple = ("WITH_NAT",)
    registers: int = 2


HABITS = [
    Habit("pjsip-replaces", PJSIP, "udp", ELSEWHERE | {"rewrite": REPLACE_EARLY}),
    Habit("pjsip-replaces-as-printed", PJSIP, "udp", ELSEWHERE | {"rewrite": REPLACE_EARLY}, ()),
    Habit("pjsip-replaces-and-hears-both", PJSIP, "udp", BOTH | {"rewrite": REPLACE_EARLY}, ()),
    Habit("pjsip-replaces-with-digest", PJSIP, "udp", ELSEWHERE | {"rewrite": REPLACE}, ("WITH_AUTH", "WITH_NAT")),
    Habit("pjsip-unregisters", PJSIP, "udp", ELSEWHERE | {"rewrite": UNREGISTER}, registers=3),
    Habit("linphone-udp", Linphone, "udp", {"listening_port": LISTENS_NOWHERE}),
    Habit("linphone-tcp", Linphone, "tcp", {"listening_port": LISTENS_SOMEWHERE}),
    Habit("linphone-tls", Linphone, "tls", {"listening_port": LISTENS_SOMEWHERE}),
    Habit("linphone-tcp-as-printed", Linphone, "tcp", {"listening_port": LISTENS_SOMEWHERE}, ()),
]


@pytest.fixture(scope="module")
def proxies(make_shared_proxy):
    """One Kamailio for each set of parts, kept for this file."""
    return {parts: make_shared_proxy(parts=parts) for parts in {habit.parts for habit in HABITS}}


@pytest.fixture(params=HABITS, ids=lambda habit: habit.name)
def called(request, phones, user, proxies):
    """A phone with the habit that has been pushed, registered twice and rings; and its caller."""
    habit = request.param
    proxy = proxies[habit.parts]
    phone = phones.make(habit.stack, user, transport=habit.transport, proxy=proxy, **habit.quirks)
    phone.start().registered_times(habit.registers).kill()
    caller = phones.caller(proxy=proxy)
    caller.call(user)
    phone.wake().registered_times(habit.registers).wait_ringing()
    return phone, caller


def test_it_rings_once_and_answers(called):
    phone, caller = called
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.hang_up()
    phone.wait_ended()
    assert len(phone.rung) == 1
    assert 486 not in phone.statuses_sent("INVITE")


def test_it_declines_and_the_call_ends_at_once(called):
    phone, caller = called
    phone.decline(486)
    with within(AT_ONCE):
        assert caller.wait_ended().code == 486
    assert len(phone.rung) == 1


def test_the_caller_hangs_up_and_the_phone_stops(called):
    phone, caller = called
    caller.hang_up()
    with within(AT_ONCE):
        assert caller.wait_ended().code == 487
        phone.wait_ended()
    assert len(phone.rung) == 1
