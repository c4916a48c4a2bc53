# SPDX-License-Identifier: MIT
"""Requests that the script suspends before it looks up the user, as it does for a database or an HTTP service."""

import pytest

from phones import no_push, rfc8599_fcm
from servers import CALLS

LATER = """
route[LATER] {
    switch (pushwake_lookup("location")) {
        case 1:  t_relay(); exit;
        case 2:  exit;
        default: t_reply("404", "Not Found"); exit;
    }
}
"""


@pytest.fixture
def server(make_kamailio):
    text = CALLS.read_text()
    for place, more in (('loadmodule "nathelper.so"', 'loadmodule "async.so"'), ("debug=2", "async_workers=2"),
                        ('    if (is_method("INVITE")) { record_route(); }',
                         '    route(CHOICES);\n    async_task_route("LATER"); exit;')):
        assert place in text
        text = text.replace(place, f"{place}\n{more}", 1)
    return make_kamailio(config=text + LATER, wake_timeout=2).start().wait_engine()


def test_nobody_wakes(server, wire, simulator):
    phone = wire.phone(server, "later-1", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, "later-1")
    simulator.wait_event(phone.push.token, "call")
    assert call.wait_final(10).status == 480


def test_nobody_wakes_and_there_is_voicemail(server, wire, simulator):
    phone = wire.phone(server, "later-2", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    voicemail = wire.phone(server, "voicemail", "udp", no_push())
    call = wire.call(server, "later-2", f"X-Voicemail: {voicemail.endpoint.port}")
    assert call.wait_final(10).status == 200


def test_a_phone_that_wakes_rings(server, wire, simulator):
    phone = wire.phone(server, "later-3", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, "later-3")
    simulator.wait_event(phone.push.token, "call")
    wire.again(phone).register()
    assert call.wait_final(10).status == 200


def test_a_phone_that_wakes_and_declines(server, wire, simulator):
    phone = wire.phone(server, "later-4", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, "later-4")
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.answers["INVITE"] = (180, 486)
    woken.register()
    assert call.wait_final(10).status == 486
