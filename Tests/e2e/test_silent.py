# SPDX-License-Identifier: MIT
"""A suspended app: its socket stays open, and nobody reads it."""

import time

import pytest

from phones import rfc8599_fcm

STREAMS = ["tcp", "tls"]


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"silent_after": 300}, wake_timeout=5)


@pytest.mark.parametrize("transport", STREAMS)
def test_a_suspended_app_is_pushed_and_rings_on_its_new_connection(server, wire, simulator, transport):
    phone = wire.phone(server, f"suspended-{transport}", transport, rfc8599_fcm())
    phone.register()
    phone.suspend()
    call = wire.call(server, phone.user)
    pushed = simulator.wait_event(phone.push.token, "call")
    assert 0.29 < pushed - call.sent_at < 0.6
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    # What the app finds in its old socket is a call and its end.
    phone.answers["INVITE"] = (180,)
    phone.resume()
    phone.wait_request("CANCEL")
    time.sleep(0.1)
    assert [s for s in call.statuses if s != 100] == [180, 200]
    assert simulator.events(phone.push.token) == ["call"]
