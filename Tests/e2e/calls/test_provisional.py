# SPDX-License-Identifier: MIT
"""What the caller hears before a phone rings."""

import time

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE


@pytest.fixture(scope="module")
def provider(make_provider):
    return make_provider({"token": "aa*", "delay_ms": 400, "status": 200},
                         {"token": "bb*", "delay_ms": 400, "reason": "BadDeviceToken"})


@pytest.fixture(scope="module")
def server(make_server, provider):
    return make_server(provider, wake_timeout=5)


def slow(prefix):
    push = rfc8599_apns()
    push.token = prefix + push.token[2:]
    return push


@pytest.mark.alone
def test_110_follows_when_the_push_was_taken(server, wire):
    phone = wire.phone(server, "taken", "udp", slow("aa"))
    phone.register()
    call = wire.call(server, phone.user)
    told = call.wait_status(110)
    assert 0.39 < told.at - call.sent_at < 0.9
    assert told.headers("To")[0].count(";tag=") == 1
    tag = told.headers("To")[0].split(";tag=")[1]
    phone.register()
    call.wait_status(200)
    assert call.statuses == [100, 110, 180, 200]
    assert tag != "" and tag != phone.tag


def test_no_110_for_a_caller_who_takes_reliable_provisional_answers_only(server, wire, provider):
    phone = wire.phone(server, "reliable", "udp", rfc8599_fcm())
    phone.answers["INVITE"] = (486,)
    phone.register()
    call = wire.call(server, phone.user, "Require: 100rel")
    provider.wait_event(phone.push.token, "call")
    time.sleep(0.2)
    phone.register()
    call.wait_status(486)
    assert call.statuses == [100, 486]


def test_no_110_for_a_push_that_fails(server, wire):
    phone = wire.phone(server, "refused", "udp", slow("bb"))
    phone.register()
    call = wire.call(server, phone.user)
    call.wait_status(200)
    assert 110 not in call.statuses


def test_no_110_when_a_phone_came_before_the_provider_answered(server, wire):
    phone = wire.phone(server, "before", "udp", slow("aa"))
    phone.answers["INVITE"] = (180,)
    phone.register()
    call = wire.call(server, phone.user)
    time.sleep(0.1)
    phone.register()
    call.wait_status(180)
    time.sleep(0.5)
    assert call.statuses == [100, 180]
    call.cancel()
    call.wait_status(487)


def test_a_message_hears_nothing_before_its_answer(server, wire):
    phone = wire.phone(server, "quiet", "udp", rfc8599_fcm())
    phone.register()
    message = wire.caller(server).write(phone.user)
    time.sleep(0.3)
    phone.register()
    assert message.wait_final().status == 200
    assert message.statuses == [200]


@pytest.mark.parametrize("status", ["180", "182", "183", "none"])
def test_wake_provisional(make_server, provider, wire, status):
    server = make_server(provider, settings={"wake_provisional": status}, wake_timeout=5)
    phone = wire.phone(server, "user", "udp", rfc8599_fcm())
    phone.answers["INVITE"] = (200,)
    phone.register()
    call = wire.call(server, phone.user)
    provider.wait_event(phone.push.token, "call")
    if status == "none":
        time.sleep(0.2)
    else:
        told = call.wait_status(int(status))
        assert ";tag=" in told.headers("To")[0]
        assert "application/sdp" not in told.text
    phone.register()
    call.wait_status(200)
    assert call.statuses == [100, *([] if status == "none" else [int(status)]), 200]


class TestTimeout:
    """`pn-timeout`: the phone wants to be left to the request itself first."""

    @staticmethod
    def phone(wire, server, user):
        push = rfc8599_fcm()
        push.contact += ";pn-timeout=1"
        phone = wire.phone(server, user, "udp", push)
        phone.register()
        return phone

    @pytest.mark.alone
    def test_a_phone_that_rings_is_not_pushed(self, server, wire, provider):
        phone = self.phone(wire, server, "patient")
        phone.answers["INVITE"] = (180,)
        call = wire.call(server, phone.user)
        invite = phone.wait_request("INVITE")
        assert invite.at - call.sent_at < AT_ONCE
        time.sleep(1.3)
        assert provider.pushes(phone.push.token) == []
        phone.answer(invite, 200)
        call.wait_status(200)

    @pytest.mark.alone
    def test_a_phone_that_sleeps_is_pushed_when_it_is_over(self, server, wire, provider):
        phone = self.phone(wire, server, "deaf")
        phone.suspend()
        call = wire.call(server, phone.user)
        assert 0.99 < provider.wait_event(phone.push.token, "call") - call.sent_at < 1.3
        woken = wire.again(phone)
        woken.register()
        call.wait_status(200)
