# SPDX-License-Identifier: MIT
"""Phones of an Asterisk that has the module, and a dialplan that knows nothing of push."""

import pytest

from baresip import Baresip
from linphone import LISTENS_SOMEWHERE, Linphone
from pbx import USERS, WakingPBX
from phones import rfc8599_apns
from pjsip import PJSIP

NUMBERS = iter(USERS)
# What Asterisk's PJSIP refuses to read: a Contact with port -2, of a Linphone that listens nowhere; a colon in a parameter
# of the Contact header, where baresip has its push parameters.
QUIRKS = {Linphone: lambda: {"listening_port": LISTENS_SOMEWHERE}, Baresip: lambda: {"push": rfc8599_apns()}}


@pytest.fixture(scope="module")
def pbx(tmp_path_factory):
    pbx = WakingPBX()
    try:
        yield pbx.start(tmp_path_factory.mktemp("pbx"))
    finally:
        pbx.stop()


@pytest.fixture
def make(tmp_path, pbx):
    """Makes phones, and ends what is left of them."""
    made = []

    def phone(stack=PJSIP, transport="udp"):
        user, quirks = next(NUMBERS), QUIRKS.get(stack, dict)()
        made.append(stack(pbx, user, tmp_path, pbx.simulator, transport=transport, password=f"{user}-secret", **quirks))
        return made[-1]

    yield phone
    for one in made:
        one.kill()


def talk(phone, caller):
    """They have answered each other; the caller hangs up."""
    phone.answer()
    caller.wait_established()
    phone.wait_established()
    caller.wait_packets()
    caller.hang_up()
    phone.wait_ended()
    caller.wait_ended()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_killed_phone_wakes_rings_and_talks(make, stack, transport):
    phone = make(stack, transport).asleep()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    talk(phone, caller)
    assert len(phone.rung) == len(phone.received("INVITE")) == len(phone.pushes()) == 1


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_it_declines(make, stack, transport):
    phone = make(stack, transport).asleep()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    phone.decline(486)
    assert caller.wait_ended().code == 486
    assert len(phone.rung) == 1


def test_the_caller_hangs_up_while_it_rings(make, stack):
    phone = make(stack, "tcp").asleep()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    caller.hang_up()
    assert caller.wait_ended().code == 487
    phone.wait_ended()
    assert len(phone.received("CANCEL")) == 1


@pytest.mark.parametrize("moving", [PJSIP, Linphone], ids=lambda stack: stack.stack)
def test_a_stopped_phone_is_resumed_by_the_push_and_rings_once(make, moving):
    phone = make(moving, "tcp").start().registered().suspend()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wait_push()
    phone.resume().refresh()
    phone.wait_ringing()
    talk(phone, caller)
    assert len(phone.rung) == 1


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_that_moves_while_it_rings_rings_at_its_new_place(make, stack, transport):
    phone = make(stack, transport).asleep()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wake().wait_ringing()
    phone.kill().start().wait_ringing()
    talk(phone, caller)
    assert len(phone.rung) == len(phone.pushes()) == 1


def test_an_awake_phone_is_not_pushed(make, stack):
    phone = make(stack, "tcp").start().registered()
    caller = make().start().registered()
    caller.call(phone.user)
    phone.wait_ringing()
    talk(phone, caller)
    assert phone.pushes() == []


def test_a_member_of_a_queue(make, stack):
    phone = make(stack, "tcp").asleep()
    caller = make().start().registered()
    caller.call(f"3{phone.user}")
    phone.wake().wait_ringing()
    talk(phone, caller)


def test_both_of_a_group_ring_and_one_answers(make, stack):
    one, other = make(stack, "tcp").asleep(), make(PJSIP, "udp").asleep()
    caller = make().start().registered()
    caller.call(f"2{one.user}{other.user}")
    one.wake()
    other.wake().wait_ringing()
    one.wait_ringing()
    one.answer()
    caller.wait_established()
    other.wait_ended()
    caller.hang_up()
    one.wait_ended()


@pytest.mark.parametrize("target", [PJSIP, Linphone, Baresip], ids=lambda stack: stack.stack)
def test_a_call_is_transferred_to_a_killed_phone(make, pbx, target):
    phone = make(target, "tcp").asleep()
    first, caller = make(Baresip).start().registered(), make().start().registered()
    caller.call(first.user)
    first.wait_ringing()
    first.answer()
    caller.wait_established()
    first.wait_established()
    first.tell("transfer", uri=pbx.uri(phone.user, "udp"))
    phone.wake().wait_ringing()
    phone.answer()
    phone.wait_established()
    caller.wait_packets()
    caller.hang_up()
    phone.wait_ended()
