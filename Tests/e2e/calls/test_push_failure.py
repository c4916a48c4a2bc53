# SPDX-License-Identifier: MIT
"""No push wakes the phone: its known address is all there is, and it is rung as soon as that is known."""

import time

import pytest

from phones import rfc8599_apns
from ports import free_port
from servers import AT_ONCE, wait_until

NO_LATER = 0.02
"""Seconds from the provider's answer to the INVITE, at best: the machine may have other work."""

RULES = [
    {"token": "aa403*", "status": 403, "reason": "InvalidProviderToken"},
    {"token": "aa400*", "status": 400, "reason": "BadDeviceToken"},
    {"token": "aa410*", "status": 410, "reason": "Unregistered", "timestamp": 4_000_000_000_000},
    {"token": "aa500*", "status": 500, "reason": "InternalServerError"},
    {"token": "bb500*", "status": 500, "reason": "InternalServerError", "count": 2},
]


@pytest.fixture(scope="module")
def provider(make_provider):
    return make_provider(*RULES)


@pytest.fixture(scope="module")
def server(make_server, provider):
    return make_server(provider, wake_timeout=20)


def push_that_fails(status):
    push = rfc8599_apns()
    push.token = f"aa{status}{push.token[5:]}"
    return push


STATUSES = pytest.mark.parametrize("status", [403, 400, 410, 500])


@pytest.mark.alone
@STATUSES
def test_the_known_contact_is_rung(server, wire, provider, status):
    delays = []
    for number in range(3):
        phone = wire.phone(server, f"refused-{status}-{number}", "udp", push_that_fails(status))
        phone.register()
        call = wire.call(server, phone.user)
        invite = phone.wait_request("INVITE")
        answered = provider.pushes(phone.push.token)[0]
        assert answered["status"] == status
        delays.append(invite.at - answered["t"])
        call.wait_status(200)
        assert 110 not in call.statuses
    assert -0.001 <= min(delays) < NO_LATER and max(delays) < 0.3, delays


@pytest.mark.alone
@pytest.mark.parametrize("status", [403, 400, 410])
def test_with_no_way_left_the_caller_hears_it_at_once(server, wire, provider, status):
    """Behind a NAT nobody but the phone can open a connection."""
    phone = wire.phone(server, f"nat-{status}", "tcp", push_that_fails(status))
    phone.register()
    phone.sleep()
    call = wire.call(server, phone.user)
    assert call.wait_final().status == 480
    assert -0.001 <= call.final.at - provider.pushes(phone.push.token)[0]["t"] < 0.3
    server.wait_log(f"ASLEEP {phone.user}")


@pytest.mark.parametrize("awake_for", [0, 60])
def test_nobody_waits_for_a_known_contact_that_says_nothing(make_server, provider, wire, awake_for):
    server = make_server(provider, settings={"awake_for": awake_for}, wake_timeout=20)
    phone = wire.phone(server, f"dead-{awake_for}", "udp", push_that_fails(410))
    phone.register()
    phone.suspend()
    call = wire.call(server, phone.user)
    assert call.wait_final(8).status == 480
    assert 4.8 < call.final.at - call.sent_at < 6
    server.wait_log(f"ASLEEP {phone.user}")


@pytest.mark.alone
def test_with_its_registration_over_the_caller_hears_it_at_once(server, wire, provider):
    phone = wire.phone(server, "expired", "udp", push_that_fails(410))
    phone.register(1)
    time.sleep(1.1)
    call = wire.call(server, phone.user)
    assert call.wait_final().status == 480
    assert call.final.at - call.sent_at < AT_ONCE
    assert phone.requests("INVITE") == []


def test_a_push_that_gets_through_later_wakes_the_phone_all_the_same(server, wire, provider):
    """The provider is out of order for a second; the known address leads nowhere."""
    push = rfc8599_apns()
    push.token = "bb500" + push.token[5:]
    phone = wire.phone(server, "out-of-order", "udp", push)
    phone.register()
    phone.suspend()
    call = wire.call(server, phone.user)
    wait_until("the push is taken", lambda: [p for p in provider.pushes(push.token) if p["status"] == 200], 4)
    assert len(provider.pushes(push.token)) == 3
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)


def refused(settings):
    settings["apns_url"] = f"https://127.0.0.1:{free_port()}"


def unreadable(settings):
    settings["apns_key"] = "/nonexistent/AuthKey_ABC123DEFG.p8"


@pytest.mark.alone
@pytest.mark.parametrize("change", [refused, unreadable])
def test_a_provider_that_cannot_be_reached_costs_no_time(make_server, simulator, wire, change):
    settings = {}
    change(settings)
    server = make_server(settings=settings, wake_timeout=20)
    phone = wire.phone(server, change.__name__, "udp", rfc8599_apns())
    phone.register()
    call = wire.call(server, phone.user)
    assert phone.wait_request("INVITE").at - call.sent_at < AT_ONCE
    call.wait_status(200)
    gone = wire.phone(server, f"nat-{change.__name__}", "tcp", rfc8599_apns())
    gone.register()
    gone.sleep()
    call = wire.call(server, gone.user)
    assert call.wait_final().status == 480
    assert call.final.at - call.sent_at < (AT_ONCE if change is unreadable else 3)


@pytest.mark.alone
def test_nobody_waits_for_a_provider_that_is_out_of_reach(make_server, simulator, wire):
    settings = {}
    refused(settings)
    server = make_server(settings=settings, wake_timeout=20)
    for number in range(4):
        phone = wire.phone(server, f"unreachable-{number}", "tcp", rfc8599_apns())
        phone.register()
        phone.sleep()
        call = wire.call(server, phone.user)
        assert call.wait_final().status == 480
        # The first caller waits for a second attempt, a later one for that which it causes, two seconds after the last.
        assert call.final.at - call.sent_at < (1 if number == 0 else 2.5)


def test_a_provider_that_comes_back_is_tried_again_for_the_next_call(make_server, make_simulator, wire):
    provider = make_simulator()
    server = make_server(provider, wake_timeout=20)
    provider.stop()
    phone = wire.phone(server, "patient", "tcp", rfc8599_apns())
    phone.register()
    phone.sleep()
    for _ in range(3):
        call = wire.call(server, phone.user)
        assert call.wait_final().status == 480
    provider.start()
    call = wire.call(server, phone.user)
    provider.wait_push(phone.push.token, 3)
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)


@pytest.mark.alone
def test_a_provider_that_goes_away_costs_no_time(make_server, make_simulator, wire):
    provider = make_simulator()
    server = make_server(provider, wake_timeout=20)
    phone = wire.phone(server, "before", "udp", rfc8599_apns())
    phone.register()
    call = wire.call(server, phone.user)
    call.wait_status(110)
    phone.register()
    call.wait_status(200)
    provider.stop()
    after = wire.phone(server, "after", "udp", rfc8599_apns())
    after.register()
    call = wire.call(server, after.user)
    assert after.wait_request("INVITE").at - call.sent_at < AT_ONCE
    call.wait_status(200)
