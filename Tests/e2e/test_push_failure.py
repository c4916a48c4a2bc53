# SPDX-License-Identifier: MIT
"""No push wakes the phone: its known address is all there is, and it is rung as soon as that is known."""

import json
import os

import pytest

from phones import apns_token, fcm_token, mpush_ios, rfc8599_apns, rfc8599_fcm
from servers import Simulator, wait_until
from sip import free_port

AT_ONCE = 0.02
"""Seconds from the provider's answer to the INVITE."""

RULES = [
    {"token": "aa403*", "status": 403, "reason": "InvalidProviderToken"},
    {"token": "aa400*", "status": 400, "reason": "BadDeviceToken"},
    {"token": "aa410*", "status": 410, "reason": "Unregistered", "timestamp": 4_000_000_000_000},
    {"token": "aa500*", "status": 500, "reason": "InternalServerError"},
]


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    provider = Simulator(tmp_path_factory.mktemp("provider"), {"rules": RULES})
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def server(make_server, provider):
    return make_server(provider, wake_timeout=20)


def push_that_fails(status):
    push = rfc8599_apns()
    push.token = f"aa{status}{push.token[5:]}"
    return push


STATUSES = pytest.mark.parametrize("status", [403, 400, 410, 500])


@STATUSES
def test_the_known_contact_is_rung(server, wire, provider, status):
    phone = wire.phone(server, f"refused-{status}", "udp", push_that_fails(status))
    phone.register()
    call = wire.call(server, phone.user)
    invite = phone.wait_request("INVITE")
    answered = provider.pushes(phone.push.token)[0]
    assert answered["status"] == status
    assert -0.001 <= invite.at - answered["t"] < AT_ONCE
    call.wait_status(200)
    assert 110 not in call.statuses


@STATUSES
def test_with_no_way_left_the_caller_hears_it_at_once(server, wire, provider, status):
    """Behind a NAT nobody but the phone can open a connection."""
    phone = wire.phone(server, f"nat-{status}", "tcp", push_that_fails(status))
    phone.register()
    phone.sleep()
    call = wire.call(server, phone.user)
    failed = call.wait_final()
    assert failed.status == 480
    assert failed.at - call.sent_at < 0.2
    server.wait_log(f"ASLEEP {phone.user}")
