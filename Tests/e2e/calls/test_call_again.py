# SPDX-License-Identifier: MIT
"""The same call once more: with a new CSeq it is a new request, without one it is a copy."""

import time

import pytest

from phones import rfc8599_fcm


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(wake_timeout=5)


@pytest.fixture
def refused(server, wire, simulator):
    """A call that its phone has refused as soon as it was woken, and that phone."""
    def make(user, status):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        call = wire.call(server, user)
        simulator.wait_event(phone.push.token, "call")
        woken = wire.again(phone)
        woken.answers["INVITE"] = (status,)
        woken.register()
        assert call.wait_final().status == status
        return call, woken

    return make


@pytest.mark.parametrize("status", [401, 422, 488])
def test_after_a_refusal_it_is_pushed_and_held_again(refused, wire, simulator, status):
    first, phone = refused(f"again-{status}", status)
    phone.sleep()
    second = first.repeat()
    simulator.wait_event(phone.push.token, "call", after=1)
    wire.again(phone).register()
    assert second.wait_final().status == 200
    assert simulator.events(phone.push.token) == ["call", "call"]


@pytest.mark.parametrize("status", [407, 422, 488])
def test_after_a_refusal_it_rings_a_phone_that_does_not_register_again(refused, simulator, status):
    """The phone is awake, though UDP shows nothing of that, and another push of the same call is no news to it."""
    first, phone = refused(f"repeated-{status}", status)
    phone.answers["INVITE"] = (180, 200)
    assert first.repeat().wait_final(2).status == 200
    assert simulator.events(phone.push.token) == ["call"]


def test_a_copy_over_another_branch_is_pushed_once(server, wire, simulator):
    """As from a proxy that forks to two of our addresses."""
    phone = wire.phone(server, "copy", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    caller = wire.caller(server)
    first = caller.call(phone.user, call_id="one-call", tag="one-caller")
    simulator.wait_event(phone.push.token, "call")
    copy = wire.caller(server).call(phone.user, call_id="one-call", tag="one-caller")
    copy.wait_status(110)
    woken = wire.again(phone)
    woken.register()
    first.wait_status(200)
    copy.wait_status(200)
    time.sleep(0.1)
    assert simulator.events(phone.push.token) == ["call"]
    assert len(woken.requests("INVITE")) == 2


@pytest.fixture(scope="module")
def hasty(make_server):
    return make_server(wake_timeout=3, settings={"decline_waits": 1})


@pytest.mark.parametrize("outcome", ["nobody", "busy", "unanswered"])
def test_a_script_that_tries_the_user_again_pushes_again(hasty, wire, simulator, outcome):
    """In one call: a retry, or a hunt that comes back to the first one."""
    phone = wire.phone(hasty, f"hunted-{outcome}", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    extra = ["X-Fr: 2000", "X-Fr-Inv: 2000"] if outcome == "unanswered" else []
    call = wire.call(hasty, phone.user, f"X-Forward: {phone.user}", *extra)
    simulator.wait_event(phone.push.token, "call")
    if outcome != "nobody":
        woken = wire.again(phone)
        woken.answers["INVITE"] = (180, 486) if outcome == "busy" else (180,)
        time.sleep(1.1)
        woken.register()
        woken.wait_request("INVITE")
        time.sleep(0.3)
        woken.sleep()
    simulator.wait_event(phone.push.token, "call", after=1)
    last = wire.again(phone)
    last.register()
    call.wait_status(200)


def test_a_script_that_tries_the_user_again_at_once_pushes_again(hasty, wire, simulator):
    """The phone has declined within a moment of its push; on UDP nobody knows whether it is still awake."""
    phone = wire.phone(hasty, "hunted-at-once", "udp", rfc8599_fcm())
    phone.register()
    call = wire.call(hasty, phone.user, f"X-Forward: {phone.user}")
    simulator.wait_event(phone.push.token, "call")
    phone.answers["INVITE"] = (486,)
    phone.register()
    simulator.wait_event(phone.push.token, "call", after=1)
    phone.answers["INVITE"] = (180, 200)
    phone.register()
    call.wait_status(200)
