# SPDX-License-Identifier: MIT
"""The caller hangs up while one phone rings and another is awaited: nothing waits for a timer."""

import uuid

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE, CALLS, stopped, wait_until

"""Seconds; the shortest timer that could be at fault is tm's T1 of 500 ms."""


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"silent_after": 5000}, wake_timeout=20)


@pytest.fixture
def ringing_and_asleep(server, wire, simulator):
    """A call to a user with a phone that rings and one that was pushed."""
    def make(user, transport):
        ringing = wire.phone(server, user, transport)
        ringing.answers["INVITE"] = (180,)
        ringing.register()
        asleep = wire.phone(server, user, "udp", rfc8599_fcm())
        asleep.register()
        asleep.sleep()
        call = wire.call(server, user)
        call.wait_status(180)
        simulator.wait_event(asleep.push.token, "call")
        return call, ringing, asleep

    return make


def assert_ended_at_once(call, at):
    for answer in (call.wait_answer("CANCEL"), call.wait_status(487)):
        assert answer.at - at < AT_ONCE, call.transcript()
    assert call.wait_answer("CANCEL").status == 200
    assert {s for s in call.statuses if s >= 200} == {487}


@pytest.mark.alone
@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_while_one_rings_and_another_is_awaited(server, wire, simulator, ringing_and_asleep, transport):
    call, ringing, asleep = ringing_and_asleep(f"cancel-{transport}", transport)
    at = call.cancel()
    assert_ended_at_once(call, at)
    assert ringing.wait_request("CANCEL").at - at < AT_ONCE
    assert simulator.wait_event(asleep.push.token, "cancel") - at < AT_ONCE
    late = wire.again(asleep)
    late.register()
    server.wait_none_held()
    assert late.requests("INVITE") == []


SIP_REASON = 'Reason: SIP;cause=200;text="Call completed elsewhere"'
DECLINE_REASON = 'Reason: SIP;cause=600;text="Busy Everywhere"'
Q850_REASON = "Reason: Q.850;cause=26"


@pytest.mark.alone
@pytest.mark.parametrize("reasons", [(SIP_REASON,), (DECLINE_REASON,), (SIP_REASON, Q850_REASON), (Q850_REASON, SIP_REASON),
                                     (Q850_REASON,), ("Reason: SIP\r\n ;cause=200",), ("Reason: SIP;\r\n\tcause=600",)],
                         ids=["answered", "declined", "then-q850", "after-q850", "q850", "folded", "folded-declined"])
def test_somebody_else_has_answered_or_declined_says_the_reason(server, wire, simulator, ringing_and_asleep, reasons):
    call, ringing, asleep = ringing_and_asleep(f"cancel-elsewhere-{uuid.uuid4().hex}", "udp")
    at = call.cancel(*reasons)
    assert_ended_at_once(call, at)
    told = ", ".join(ringing.wait_request("CANCEL").headers("Reason"))
    assert all("".join(reason.removeprefix("Reason: ").split(";text")[0].split()) in told.replace(" ", "") for reason in reasons)
    assert simulator.wait_event(asleep.push.token, "elsewhere") - at < AT_ONCE


@pytest.mark.alone
@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_a_silent_phone_beside_one_that_rings_delays_nothing(server, wire, simulator, ringing_and_asleep, transport):
    user = f"cancel-beside-{transport}"
    silent = wire.phone(server, user, transport)
    silent.register()
    silent.suspend()
    call, ringing, _ = ringing_and_asleep(user, "udp")
    at = call.cancel()
    assert_ended_at_once(call, at)
    assert ringing.wait_request("CANCEL").at - at < AT_ONCE
    silent.answers["INVITE"] = (180,)
    silent.resume()
    silent.wait_request("CANCEL")


@pytest.mark.alone
@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_a_suspended_app_delays_nothing(server, wire, transport):
    silent = wire.phone(server, f"cancel-silent-{transport}", transport, rfc8599_fcm())
    silent.answers["INVITE"] = ()
    silent.register()
    call = wire.call(server, silent.user)
    silent.wait_request("INVITE")
    assert_ended_at_once(call, call.cancel())
    silent.wait_request("CANCEL")


@pytest.fixture
def woken(server, wire, simulator):
    """A call to a phone that was pushed, has come back and rings."""
    def make(user, transport):
        phone = wire.phone(server, user, transport, rfc8599_fcm())
        phone.register()
        phone.sleep()
        call = wire.call(server, user)
        simulator.wait_event(phone.push.token, "call")
        ringing = wire.again(phone)
        ringing.answers["INVITE"] = (180,)
        ringing.register()
        call.wait_status(180)
        return call, ringing

    return make


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_a_phone_that_rang_and_is_frozen_has_five_seconds_to_answer_its_cancel(server, woken, transport):
    """tm would wait as long as for somebody to pick up."""
    call, ringing = woken(f"cancel-frozen-{transport}", transport)
    ringing.suspend()
    at = call.cancel()
    assert 4 < call.wait_status(487, 8).at - at < 7
    ringing.resume()
    ringing.wait_request("CANCEL")
    ringing.wait_request("ACK")
    server.wait_none_held()
    assert [status for status in call.statuses if status >= 200] == [487]


def move(wire, phone):
    """Its network changes while it rings: it says nothing new, and registers over another connection."""
    phone.sleep()
    moved = wire.again(phone, call_id=phone.call_id)
    moved.cseq = phone.cseq
    moved.answers["INVITE"] = (482,)
    moved.register()
    return moved


def hears_the_end(before, moved):
    """The CANCEL of the INVITE that it had, and the ACK for its 487."""
    invite = before.requests("INVITE")[0]
    cancel = moved.wait_request("CANCEL")
    assert cancel.headers("Via")[0] == invite.headers("Via")[0]
    moved.answer(invite, 487)
    moved.wait_request("ACK")


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
@pytest.mark.parametrize("is_back", [True, False], ids=["before", "after"])
def test_a_phone_that_moved_while_it_rang_hears_the_end_where_it_is(server, wire, woken, transport, is_back):
    call, ringing = woken(f"cancel-moved-{transport}-{is_back}", transport)
    if is_back:
        moved = move(wire, ringing)
        call.cancel()
    else:
        ringing.sleep()
        call.cancel()
        moved = move(wire, ringing)
    hears_the_end(ringing, moved)
    assert call.wait_status(487, 2)
    server.wait_none_held()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("answer", [200, 603])
def test_a_phone_that_moved_while_it_rang_hears_that_another_has_answered(server, wire, woken, answer, transport):
    user = f"cancel-moved-{answer}-{transport}"
    desk = wire.phone(server, user)
    desk.answers["INVITE"] = (100,)
    desk.register()
    call, ringing = woken(user, transport)
    moved = move(wire, ringing)
    desk.answer(desk.wait_request("INVITE"), answer)
    hears_the_end(ringing, moved)
    assert call.wait_status(answer)


def test_a_frozen_phone_does_not_keep_from_the_caller_that_another_has_declined_for_all(server, wire, woken):
    desk = wire.phone(server, "cancel-declined")
    desk.answers["INVITE"] = (100,)
    desk.register()
    call, ringing = woken("cancel-declined", "tcp")
    ringing.suspend()
    desk.answer(desk.wait_request("INVITE"), 603)
    assert call.wait_final(8).status == 603


@pytest.mark.alone
def test_the_cancel_follows_on_the_heels_of_the_invite(server, wire):
    """While the script is still at work with it, whatever it has come to."""
    silent = wire.phone(server, "cancel-heels", "tcp", rfc8599_fcm())
    silent.answers["INVITE"] = (180,)
    silent.register()
    silent.suspend()
    caller = wire.caller(server)
    for _ in range(40):
        call = caller.call(silent.user)
        call.wait_status(100)
        assert_ended_at_once(call, call.cancel())
    server.wait_none_held()
    silent.resume()
    wait_until("a CANCEL for each INVITE", lambda: len(silent.requests("CANCEL")) == len(silent.requests("INVITE")))


@pytest.mark.alone
def test_all_asleep(server, wire, simulator):
    asleep = wire.phone(server, "cancel-asleep", "udp", rfc8599_fcm())
    asleep.register()
    call = wire.call(server, asleep.user)
    call.wait_status(110)
    at = call.cancel()
    assert_ended_at_once(call, at)
    assert simulator.wait_event(asleep.push.token, "cancel") - at < AT_ONCE


def test_the_cancel_comes_as_the_phone_is_registering(server, wire, simulator):
    """Whatever order the two arrive in: either no INVITE, or an INVITE and its CANCEL."""
    for number in range(20):
        phone = wire.phone(server, f"cancel-race-{number}", "udp", rfc8599_fcm())
        phone.answers["INVITE"] = (180,)
        phone.register()
        call = wire.call(server, phone.user)
        call.wait_status(110)
        phone.send_register()
        call.cancel()
        assert call.wait_final(2).status == 487
        if phone.requests("INVITE"):
            phone.wait_request("CANCEL")


@pytest.mark.alone
def test_a_phone_that_shows_the_call_already_is_sent_its_end(server, wire, simulator):
    """A PushKit push cannot be taken back: the INVITE and its CANCEL close the screen."""
    phone = wire.phone(server, "ghost", "udp", rfc8599_apns())
    phone.register()
    phone.sleep()
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    call.wait_status(110)
    assert_ended_at_once(call, call.cancel())
    woken = wire.again(phone)
    woken.answers["INVITE"] = (100, 180)
    registered = woken.register()
    invite = woken.wait_request("INVITE")
    cancel = woken.wait_request("CANCEL")
    assert cancel.at - registered.at < AT_ONCE
    assert invite.headers("Call-ID") == [call.call_id] == cancel.headers("Call-ID")
    assert "cause=487" in cancel.headers("Reason")[0]
    woken.wait_request("ACK")
    woken.register()
    assert len(woken.requests("INVITE")) == 1


@pytest.fixture(scope="module")
def early(make_server):
    """Its script makes the transaction first, and has something slow to do before it looks the user up."""
    config = CALLS.read_text().replace('loadmodule "tmx.so"', 'loadmodule "tmx.so"\nloadmodule "cfgutils.so"')
    config = config.replace("    route(CHOICES);\n", """    route(CHOICES);
    t_newtran();
    if (is_present_hf("X-Slow")) { xlog("L_NOTICE", "SLOW $rU\\n"); usleep("$(hdr(X-Slow){s.int})"); xlog("L_NOTICE", "DONE $rU\\n"); }
""")
    return make_server(config=config, wake_timeout=20)


def test_before_the_script_looks_the_user_up(early, wire, simulator):
    phone = wire.phone(early, "early", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(early, "early", "X-Slow: 300000")
    early.wait_log("SLOW early")
    call.cancel()
    assert call.wait_final().status == 487
    early.wait_log("DONE early")
    assert wire.call(early, "nobody").wait_final().status == 404
    early.wait_none_held()
    assert simulator.pushes(phone.push.token) == []


def test_while_the_engine_is_asked(early, wire, simulator):
    phone = wire.phone(early, "asking", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    with stopped(early.engine_pid()):
        call = wire.call(early, "asking", "X-Slow: 1")
        early.wait_log("DONE asking")
        call.cancel()
        assert call.wait_final().status == 487
    simulator.wait_event(phone.push.token, "cancel")
    early.wait_none_held()
    assert "cancelled" in early.rpc("pushwake.trace", "asking")
