# SPDX-License-Identifier: MIT
"""Two phones of one user, in the orders that matter."""

import dataclasses

import pytest

from baresip import Baresip
from clock import AT_ONCE, within
from linphone import Linphone
from pjsip import PJSIP
from softphone import Softphone


@dataclasses.dataclass
class Pair:
    a: Softphone
    b: Softphone
    caller: Softphone

    def call(self):
        self.caller.call(self.a.user)

    def wake(self, *phones):
        for phone in phones:
            phone.wake()
        for phone in phones:
            phone.wait_ringing()

    def comes_too_late(self, phone):
        """The phone wakes after the end; the next thing that reaches it is not the call."""
        phone.wake().registered()
        self.caller.send_message(phone.user, "the next thing that comes")
        phone.wait_message()
        assert phone.rung == [] and phone.received("INVITE") == []

    def talks(self, phone):
        self.caller.wait_established()
        phone.wait_established()

    def ends_at_once(self, status):
        with within(AT_ONCE):
            assert self.caller.wait_ended().code == status


PAIRS = [(PJSIP, Linphone), (Linphone, Baresip), (Baresip, PJSIP)]


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0].stack}+{pair[1].stack}")
def pair(request, phones, user):
    """A and B have registered and sleep; their connections are gone."""
    a, b = (phones.make(stack, user, transport="tcp").asleep() for stack in request.param)
    return Pair(a, b, phones.caller())


@pytest.fixture
def awake_a(pair):
    """A has come back, B sleeps on."""
    pair.a.start().registered()
    return pair


def test_a_wakes_and_answers_and_b_comes_too_late(pair):
    pair.call()
    pair.wake(pair.a)
    pair.a.answer()
    pair.talks(pair.a)
    pair.comes_too_late(pair.b)
    pair.caller.hang_up()
    pair.a.wait_ended()


def test_a_declines_then_b_wakes_and_answers(pair):
    pair.call()
    pair.wake(pair.a)
    pair.a.decline(486)
    pair.a.wait_ended()
    pair.wake(pair.b)
    pair.b.answer()
    pair.talks(pair.b)
    assert 486 not in pair.caller.statuses()


def test_both_wake_and_when_a_answers_b_stops(pair):
    pair.call()
    pair.wake(pair.a, pair.b)
    pair.a.answer()
    pair.talks(pair.a)
    pair.b.wait_ended()
    assert len(pair.b.received("CANCEL")) == 1


def test_b_wakes_after_the_end_of_the_call(pair):
    pair.call()
    pair.wake(pair.a)
    pair.a.answer()
    pair.talks(pair.a)
    pair.a.hang_up()
    pair.caller.wait_ended()
    pair.comes_too_late(pair.b)


def test_the_caller_hangs_up_while_both_ring(pair):
    pair.call()
    pair.wake(pair.a, pair.b)
    pair.caller.hang_up()
    pair.ends_at_once(487)
    pair.a.wait_ended()
    pair.b.wait_ended()


def test_the_caller_hangs_up_while_a_rings_and_b_sleeps(pair):
    pair.call()
    pair.wake(pair.a)
    pair.caller.hang_up()
    pair.ends_at_once(487)
    pair.a.wait_ended()
    pair.comes_too_late(pair.b)


def test_the_caller_hangs_up_while_both_sleep(pair):
    pair.call()
    pair.a.simulator.wait_push(pair.a.push.token)
    pair.caller.hang_up()
    pair.ends_at_once(487)
    pair.comes_too_late(pair.a)
    pair.comes_too_late(pair.b)


def test_603_of_one_speaks_for_both(pair):
    decliner, other = (pair.a, pair.b) if 603 in pair.a.declines_with else (pair.b, pair.a)
    pair.call()
    pair.wake(decliner, other)
    decliner.decline(603)
    pair.ends_at_once(603)
    other.wait_ended()


def test_603_of_one_speaks_for_the_one_that_sleeps(pair):
    decliner, other = (pair.a, pair.b) if 603 in pair.a.declines_with else (pair.b, pair.a)
    pair.call()
    pair.wake(decliner)
    decliner.decline(603)
    pair.ends_at_once(603)
    pair.comes_too_late(other)


def test_486_of_both_ends_the_call(pair):
    pair.call()
    pair.wake(pair.a, pair.b)
    pair.a.decline(486)
    pair.a.wait_ended()
    pair.b.decline(486)
    pair.ends_at_once(486)


def test_a_is_awake_and_answers_and_b_comes_too_late(awake_a):
    awake_a.call()
    awake_a.a.wait_ringing()
    awake_a.a.answer()
    awake_a.talks(awake_a.a)
    awake_a.comes_too_late(awake_a.b)
    assert awake_a.a.pushes() == []


def test_a_is_awake_and_declines_then_b_wakes_and_answers(awake_a):
    awake_a.call()
    awake_a.a.wait_ringing()
    awake_a.a.decline(486)
    awake_a.a.wait_ended()
    awake_a.wake(awake_a.b)
    awake_a.b.answer()
    awake_a.talks(awake_a.b)
    assert 486 not in awake_a.caller.statuses()


def test_a_is_awake_and_rings_and_b_wakes_and_answers(awake_a):
    awake_a.call()
    awake_a.a.wait_ringing()
    awake_a.wake(awake_a.b)
    awake_a.b.answer()
    awake_a.talks(awake_a.b)
    awake_a.a.wait_ended()
