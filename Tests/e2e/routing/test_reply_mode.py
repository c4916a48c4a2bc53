# SPDX-License-Identifier: MIT
"""tm's failure_reply_mode drops what phones answered when a failure_route has run. Where none runs, the caller hears it."""

import pytest

from phones import rfc8599_fcm
from servers import CALLS


@pytest.fixture(scope="module", params=[1, 2, 3])
def server(request, make_server):
    mode = f'modparam("tm", "failure_reply_mode", {request.param})\n'
    config = CALLS.read_text().replace('modparam("tls", "tls_method"', mode + 'modparam("tls", "tls_method"', 1)
    return make_server(config=config, settings={"decline_waits": 1}, wake_timeout=2)


def test_nobody_wakes(server, wire, asleep):
    asleep("lost")
    assert wire.call(server, "lost").wait_final().status == 480


def test_the_phone_that_wakes_declines(server, wire, asleep, simulator):
    phone = asleep("declines")
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.answers["INVITE"] = (180, 603)
    woken.register()
    assert call.wait_final().status == 603


def test_a_desk_phone_is_busy_and_nobody_wakes(server, wire, asleep):
    asleep("busy")
    desk = wire.phone(server, "busy")
    desk.answers["INVITE"] = (180, 486)
    desk.register()
    assert wire.call(server, "busy").wait_final().status == 486


def test_the_caller_hangs_up_while_it_rings(server, wire):
    phone = wire.phone(server, "impatient", "tcp", rfc8599_fcm())
    phone.answers["INVITE"] = (180,)
    phone.register()
    call = wire.call(server, "impatient")
    call.wait_status(180)
    call.cancel()
    assert call.wait_final().status == 487


def test_a_failure_route_that_goes_on_to_voicemail(server, wire, asleep):
    asleep("recorded")
    box = wire.phone(server, "voicemail")
    box.answers["INVITE"] = (180, 486)
    call = wire.call(server, "recorded", f"X-Voicemail: {box.endpoint.port}")
    assert call.wait_final().status == 486
