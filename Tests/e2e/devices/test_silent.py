# SPDX-License-Identifier: MIT
"""A suspended app: its socket stays open, and nobody reads it."""

import time

import pytest

from phones import rfc8599_fcm
from servers import AT_ONCE


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"silent_after": 300, "awake_for": 5}, wake_timeout=3)


@pytest.fixture
def suspended(server, wire):
    """Makes a phone that registers and is suspended."""
    def make(transport, user, on=server):
        phone = wire.phone(on, f"{user}-{transport}", transport, rfc8599_fcm())
        phone.register()
        phone.suspend()
        return phone

    return make


TRANSPORTS = pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])


@pytest.mark.alone
@TRANSPORTS
def test_a_suspended_app_is_pushed_and_rings_where_it_registers_next(server, wire, simulator, suspended, transport):
    phone = suspended(transport, "suspended")
    call = wire.call(server, phone.user)
    pushed = simulator.wait_event(phone.push.token, "call")
    assert 0.29 < pushed - call.sent_at < 0.9
    woken = wire.again(phone)
    registered = woken.register()
    assert woken.wait_request("INVITE").at - registered.at < AT_ONCE
    call.wait_status(200)
    # What the app finds in its old socket is a call and its end.
    phone.answers["INVITE"] = (180,)
    phone.resume()
    phone.wait_request("CANCEL")
    time.sleep(0.1)
    assert [s for s in call.statuses if s != 100] == [180, 200]
    assert simulator.events(phone.push.token) == ["call"]


@TRANSPORTS
def test_what_the_old_connection_says_late_is_not_heard(server, wire, simulator, suspended, transport):
    phone = suspended(transport, "late-no")
    phone.answers["INVITE"] = ()
    phone.ignores_cancel = True
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.answers["INVITE"] = (183,)
    woken.register()
    ringing = woken.wait_request("INVITE")
    call.wait_status(183)
    phone.resume()
    invite = phone.wait_request("INVITE")
    # Before that the phone is not late.
    phone.wait_request("CANCEL")
    for status in (180, 486):
        phone.answer(invite, status)
    phone.wait_request("ACK")
    woken.answer(ringing, 200)
    call.wait_status(200)
    assert [s for s in call.statuses if s != 100] == [183, 200]


@TRANSPORTS
def test_whoever_picks_up_on_the_old_connection_has_the_call(server, wire, simulator, suspended, transport):
    phone = suspended(transport, "late-yes")
    phone.answers["INVITE"] = (200,)
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.answers["INVITE"] = (183,)
    woken.register()
    call.wait_status(183)
    phone.resume()
    call.wait_status(200)
    phone.wait_request("ACK")
    woken.wait_request("CANCEL")


def test_an_app_that_says_trying_is_left_alone(server, wire, simulator):
    phone = wire.phone(server, "trying", "tcp", rfc8599_fcm())
    phone.register()
    phone.answers["INVITE"] = (100,)
    call = wire.call(server, phone.user)
    invite = phone.wait_request("INVITE")
    time.sleep(0.5)
    assert simulator.pushes(phone.push.token) == []
    phone.answer(invite, 200)
    call.wait_status(200)


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_a_suspended_app_that_stays_away_is_told_480(server, wire, simulator, suspended, transport):
    phone = suspended(transport, "away")
    call = wire.call(server, phone.user, "X-Fr: 20000", "X-Fr-Inv: 20000")
    assert call.wait_final().status == 480
    assert 2.9 < call.final.at - call.sent_at < 3.4
    phone.answers["INVITE"] = (180,)
    phone.resume()
    phone.wait_request("CANCEL")
    simulator.wait_event(phone.push.token, "missed")


def test_after_the_default_of_one_and_a_half_seconds(make_server, wire, simulator, suspended):
    server = make_server(wake_timeout=5)
    phone = suspended("tcp", "default", server)
    call = wire.call(server, phone.user)
    pushed = simulator.wait_event(phone.push.token, "call")
    assert 1.49 < pushed - call.sent_at < 1.9
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)


@pytest.mark.alone
def test_with_0_the_app_is_rung_and_pushed_at_once(make_server, wire, simulator, suspended):
    server = make_server(settings={"silent_after": 0}, wake_timeout=5)
    phone = suspended("tcp", "at-once", server)
    call = wire.call(server, phone.user)
    pushed = simulator.wait_event(phone.push.token, "call")
    assert pushed - call.sent_at < AT_ONCE
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)
    phone.resume()
    phone.wait_request("INVITE")
    assert simulator.events(phone.push.token) == ["call"]


def test_with_minus_1_an_open_connection_is_trusted(make_server, wire, simulator, suspended):
    server = make_server(settings={"silent_after": -1}, wake_timeout=5)
    phone = suspended("tcp", "never", server)
    call = wire.call(server, phone.user)
    time.sleep(1.8)
    assert simulator.pushes(phone.push.token) == []
    phone.resume()
    call.wait_status(200)


def in_turn(server, wire, user, simulator):
    """A call that rings a desk phone first and would try an app next, whose connection is open."""
    desk = wire.phone(server, user)
    desk.answers["INVITE"] = (180,)
    desk.register(600, desk.contact + ";q=1.0")
    app = wire.phone(server, user, "tcp", rfc8599_fcm())
    app.register(600, app.contact + ";q=0.5")
    app.suspend()
    call = wire.call(server, user, "X-Serial: yes")
    return call, desk.wait_request("INVITE"), desk, app


def test_a_contact_that_the_script_tries_later_is_not_silent(server, wire, simulator):
    call, ringing, desk, app = in_turn(server, wire, "later", simulator)
    time.sleep(0.7)
    assert simulator.pushes(app.push.token) == []
    desk.answer(ringing, 200)
    call.wait_status(200)
    assert simulator.pushes(app.push.token) == []


@pytest.mark.alone
def test_it_may_be_silent_once_it_is_tried(server, wire, simulator):
    call, ringing, desk, app = in_turn(server, wire, "tried", simulator)
    time.sleep(0.5)
    desk.answer(ringing, 486)
    tried = app.endpoint.wait_data()
    pushed = simulator.wait_event(app.push.token, "call")
    assert 0.29 < pushed - tried < 0.9
    woken = wire.again(app)
    woken.register()
    call.wait_status(200)


@pytest.mark.alone
def test_a_contact_that_is_tried_later_over_a_dead_connection_is_pushed_at_once(server, wire, simulator):
    call, ringing, desk, app = in_turn(server, wire, "tried-dead", simulator)
    desk.answer(ringing, 486)
    ended = app.endpoint.wait_data()
    app.endpoint.reset()
    assert simulator.wait_event(app.push.token, "call") - ended < AT_ONCE
    woken = wire.again(app)
    woken.register()
    call.wait_status(200)
