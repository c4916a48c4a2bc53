# SPDX-License-Identifier: MIT
"""What phones hear of a call that they did not take: over SIP where they are there, else by push, and once."""

import time

import pytest

from phones import rfc8599_apns, rfc8599_fcm


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"decline_waits": 0}, wake_timeout=2)


@pytest.fixture
def pushed(wire, simulator, server):
    """A call to a desk phone, and to a mobile that sleeps and was pushed."""
    def make(user, answers=(180,), push=rfc8599_fcm, on=server):
        desk = wire.phone(on, user)
        desk.answers["INVITE"] = answers
        desk.register()
        mobile = wire.phone(on, user, "udp", push())
        mobile.register()
        mobile.sleep()
        call = wire.call(on, user)
        simulator.wait_event(mobile.push.token, "call")
        return call, desk, mobile

    return make


def taken(call, desk):
    """The desk phone picks up, once the push was taken."""
    invite = desk.wait_request("INVITE")
    time.sleep(0.1)
    desk.answer(invite, 200)
    call.wait_status(200)


def hung_up(call, desk):
    call.wait_status(180)
    time.sleep(0.1)
    call.cancel()
    call.wait_status(487)


def declined(call, desk):
    invite = desk.wait_request("INVITE")
    time.sleep(0.1)
    desk.answer(invite, 486)
    call.wait_status(486)


def declined_for_all(call, desk):
    invite = desk.wait_request("INVITE")
    time.sleep(0.1)
    desk.answer(invite, 603)
    call.wait_status(603)


ENDS = pytest.mark.parametrize("end, event, cause", [
    (taken, "elsewhere", "cause=200"), (hung_up, "cancel", "cause=487"), (declined, "missed", "cause=486"),
    (declined_for_all, "elsewhere", "cause=603")], ids=lambda value: getattr(value, "__name__", ""))


@ENDS
def test_a_phone_that_sleeps_on_is_told_by_push_once(pushed, wire, simulator, end, event, cause):
    call, desk, mobile = pushed(f"told-{end.__name__}")
    end(call, desk)
    simulator.wait_event(mobile.push.token, event)
    woken = wire.again(mobile)
    woken.register()
    time.sleep(0.2)
    assert woken.requests("INVITE") == []
    assert simulator.events(mobile.push.token) == ["call", event]


@ENDS
def test_a_phone_that_shows_the_call_is_sent_invite_and_cancel(pushed, wire, simulator, end, event, cause):
    call, desk, mobile = pushed(f"ghost-{end.__name__}", push=rfc8599_apns)
    end(call, desk)
    woken = wire.again(mobile)
    woken.answers["INVITE"] = (180,)
    woken.register()
    invite = woken.wait_request("INVITE")
    cancel = woken.wait_request("CANCEL")
    assert cause in cancel.headers("Reason")[0]
    assert invite.headers("Call-ID") == cancel.headers("Call-ID") == [call.call_id]
    woken.wait_request("ACK")
    # It knows now, and so does whoever asks again.
    woken.register()
    time.sleep(0.2)
    assert len(woken.requests("INVITE")) == 1
    assert simulator.events(mobile.push.token) == ["call"], "a PushKit token may only get calls"


def test_an_answer_that_cannot_reach_the_caller_is_one(server, wire, simulator):
    """The caller's connection is gone, and so is whoever would have hung up."""
    desk = wire.phone(server, "left", "tcp", rfc8599_fcm())
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = wire.phone(server, "left", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    caller = wire.caller(server, "tcp")
    caller.call("left").wait_status(180)
    caller.stop()
    server.wait_disconnected(caller.endpoint.port)
    desk.answer(desk.wait_request("INVITE"), 200)
    simulator.wait_event(mobile.push.token, "elsewhere", 10)  # tm forgets an answered call after five seconds
    assert simulator.events(mobile.push.token) == ["call", "elsewhere"]


def test_after_wake_timeout_it_was_missed(server, wire, simulator):
    mobile = wire.phone(server, "missed", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    assert wire.call(server, "missed").wait_final().status == 480
    simulator.wait_event(mobile.push.token, "missed")


@pytest.fixture
def mute(wire, simulator):
    """A call whose phone came for its push, and says nothing to the INVITE: its app was ended right after."""
    def make(server, user, transport="tcp"):
        mobile = wire.phone(server, user, transport, rfc8599_fcm())
        mobile.register()
        mobile.sleep()
        call = wire.call(server, user)
        simulator.wait_event(mobile.push.token, "call")
        woken = wire.again(mobile)
        woken.answers["INVITE"] = ()
        woken.ignores_cancel = True
        woken.register()
        return call, woken, woken.wait_request("INVITE")

    return make


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_that_came_and_says_nothing_is_told_by_push(make_server, mute, simulator, transport):
    call, mobile, _ = mute(make_server(settings={"silent_after": 300}, wake_timeout=8), f"mute-{transport}", transport)
    time.sleep(0.5)
    call.cancel()
    call.wait_status(487)
    simulator.wait_event(mobile.push.token, "cancel")
    assert simulator.events(mobile.push.token) == ["call", "cancel"]


def test_nobody_waits_for_a_phone_that_came_and_says_nothing(server, mute, simulator):
    """tm's own timer would end it after 30 s; the phone has five seconds, and `wake_timeout`."""
    call, mobile, invite = mute(server, "mute-to-the-end")
    assert 4.9 < call.wait_final(9).at - invite.at < 6.5
    assert call.final.status == 480
    simulator.wait_event(mobile.push.token, "missed")
    assert simulator.events(mobile.push.token) == ["call", "missed"]


def test_after_wake_timeout_the_screen_is_closed(server, wire, simulator):
    mobile = wire.phone(server, "missed-voip", "udp", rfc8599_apns())
    mobile.register()
    mobile.sleep()
    assert wire.call(server, "missed-voip").wait_final().status == 480
    woken = wire.again(mobile)
    woken.answers["INVITE"] = (180,)
    woken.register()
    assert "cause=480" in woken.wait_request("CANCEL").headers("Reason")[0]


def test_however_soon_it_rings_its_cancel_says_why(server, wire, simulator):
    """Its 180 may be here before the server has made up its CANCEL."""
    caller = wire.caller(server)
    for number in range(60):
        mobile = wire.phone(server, f"soon-{number}", "udp", rfc8599_apns())
        mobile.answers["INVITE"] = (180,)
        mobile.register()
        call = caller.call(mobile.user)
        call.wait_status(110)
        call.cancel()
        call.wait_status(487)
        mobile.register()
        assert "cause=487" in "".join(mobile.wait_request("CANCEL").headers("Reason"))
        mobile.stop()


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_the_screen_is_closed_over_a_stream_too(server, wire, simulator, transport):
    mobile = wire.phone(server, f"ghost-{transport}", "udp", rfc8599_apns())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, mobile.user)
    call.wait_status(110)
    call.cancel()
    call.wait_status(487)
    woken = wire.again(mobile, transport)
    woken.answers["INVITE"] = (180,)
    woken.register()
    woken.wait_request("CANCEL")
    woken.wait_request("ACK")


def test_who_picks_up_a_call_that_is_over_is_hung_up(server, wire, simulator):
    """The CANCEL waits for the first answer; this one is 200 at once."""
    mobile = wire.phone(server, "too-fast", "udp", rfc8599_apns())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, mobile.user)
    call.wait_status(110)
    call.cancel()
    call.wait_status(487)
    woken = wire.again(mobile)
    woken.answers["INVITE"] = (200,)
    woken.register()
    woken.wait_request("ACK")
    woken.wait_request("BYE")
    assert 200 not in call.statuses


def test_a_phone_that_rings_hears_it_over_sip_alone(pushed, wire, simulator):
    call, desk, mobile = pushed("rings")
    woken = wire.again(mobile)
    woken.answers["INVITE"] = (180,)
    woken.register()
    woken.wait_request("INVITE")
    taken(call, desk)
    assert "cause=200" in "".join(woken.wait_request("CANCEL").headers("Reason"))
    time.sleep(0.2)
    assert simulator.events(mobile.push.token) == ["call"]


@pytest.mark.parametrize("settings, events", [
    ({"cancel_when": "never"}, ["call"]), ({"cancel_when": "pushed"}, ["call", "cancel"])], ids=["never", "pushed"])
def test_settings(make_server, pushed, wire, simulator, settings, events):
    server = make_server(settings=settings, wake_timeout=5)
    call, desk, mobile = pushed("settings", on=server)
    woken = wire.again(mobile)
    woken.answers["INVITE"] = (180,)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(180)
    call.cancel()
    call.wait_status(487)
    woken.wait_request("CANCEL")
    time.sleep(0.2)
    assert simulator.events(mobile.push.token) == events
