# SPDX-License-Identifier: MIT
"""Phones behind an edge proxy (Path): their Contact is an address that only the proxy can reach."""

import pytest
from phones import fcm_token
from ports import free_port
from proxied import CONTACT, Proxied, behind_proxy, start_proxied
from sleeper import fcm, finish


@pytest.fixture(scope="module")
def proxied_asterisk(make_session_asterisk):
    asterisk = start_proxied(make_session_asterisk("proxied", settings={"awake_for": 0}, start=False))
    yield asterisk
    asterisk.stop()


@pytest.fixture
def proxied(phones, proxied_asterisk, simulator, user):
    return Proxied(phones, proxied_asterisk, simulator, user, fcm)


def assert_came_by(phone, invite):
    assert invite.uri.startswith(CONTACT)
    assert invite.all("Route") == [f"<sip:127.0.0.1:{phone.port};lr>"]


def test_a_phone_that_wakes_is_called_through_its_proxy(proxied, proxied_asterisk, phones):
    caller = phones("caller", proxied_asterisk.address)
    call = caller.call(proxied.user)
    awake = proxied.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert_came_by(awake, invite)
    finish(call, awake, invite)


def test_an_awake_phone_without_push_is_called_through_its_proxy(proxied_asterisk, phones, user):
    desk = behind_proxy(phones(user, proxied_asterisk.address))
    assert desk.register().status == 200
    call = phones("caller", proxied_asterisk.address).call(user)
    invite = desk.expect_request("INVITE")
    assert_came_by(desk, invite)
    finish(call, desk, invite)


def test_a_text_goes_to_an_awake_phone_through_its_proxy(proxied_asterisk, phones, user):
    desk = behind_proxy(phones(user, proxied_asterisk.address))
    assert desk.register().status == 200
    phones("caller", proxied_asterisk.address).begin_message(user, "Are you up?")
    message = desk.expect_request("MESSAGE")
    assert message.body == "Are you up?"
    assert_came_by(desk, message)


def test_a_proxy_that_is_an_endpoints_own_says_100_for_no_phone(make_asterisk, phones, simulator):
    """It writes no Path: pjsip.conf names it."""
    asterisk, port, token = make_asterisk(settings={"awake_for": 60, "wake_timeout": 20}, start=False), free_port(), fcm_token()
    asterisk.change("pjsip.conf", "aors = 101\n", f"aors = 101\noutbound_proxy = sip:127.0.0.1:{port}\\;lr\n")
    asterisk.change("pjsip.conf", "rewrite_contact = yes", "rewrite_contact = no")
    asterisk.start()
    asterisk.wait_engine()
    proxy = phones("101", asterisk.address, port=port)
    assert proxy.register(fcm(token), contact="sip:101@192.0.2.1:5062").status == 200
    call = phones("caller", asterisk.address).call("101")
    invite = proxy.expect_request("INVITE")
    assert invite.all("Route") == [f"<sip:127.0.0.1:{port};lr>"]
    proxy.reply(invite, 100, "Trying")
    simulator.wait_push(token)
    assert proxy.register(fcm(token), contact="sip:101@192.0.2.1:5063").status == 200
    awake = proxy.expect(lambda m: m.method == "INVITE" and m.uri.startswith("sip:101@192.0.2.1:5063"))
    finish(call, proxy, awake)


@pytest.mark.parametrize("heard", [0, 100])
def test_a_phone_that_comes_back_through_another_proxy_is_called_through_that(make_asterisk, phones, simulator, heard):
    """Its Contact is the same, and only its Path has changed: an INVITE is out to where it was."""
    asterisk = start_proxied(make_asterisk(settings={"awake_for": 60, "wake_timeout": 20}, start=False))
    first, token = behind_proxy(phones("101", asterisk.address)), fcm_token()
    assert first.register(fcm(token)).status == 200
    call = phones("caller", asterisk.address).call("101")
    invite = first.expect_request("INVITE")
    if heard:
        first.reply(invite, heard, "Trying")
    simulator.wait_push(token)
    second = behind_proxy(phones("101", asterisk.address))
    second.instance, second.register_id, second.register_cseq = first.instance, first.register_id, first.register_cseq
    assert second.register(fcm(token)).status == 200
    invite = second.expect_request("INVITE")
    assert_came_by(second, invite)
    finish(call, second, invite)
