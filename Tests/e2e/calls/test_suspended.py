# SPDX-License-Identifier: MIT
"""A script looks users up after it was suspended, as one does that asks a database or a web service first."""

import pytest

from phones import no_push
from servers import CALLS


@pytest.fixture(scope="module")
def server(make_server):
    config = CALLS.read_text()
    looks = config[config.index('    switch (pushwake_lookup("location")) {'):config.index("route[REGISTRAR] {")]
    config = config.replace(looks, '    async_task_route("LATER");\n    exit;\n}\n\nroute[LATER] {\n' + looks)
    config = config.replace("children=2\n", "children=2\nasync_workers=2\n", 1).replace(
        'loadmodule "tmx.so"', 'loadmodule "tmx.so"\nloadmodule "async.so"')
    return make_server(config=config, settings={"decline_waits": 1}, wake_timeout=3)


def test_a_phone_that_wakes_rings_beside_a_desk_that_is_busy(server, wire, simulator, asleep):
    desk = wire.phone(server, "later")
    desk.answers["INVITE"] = (180, 486)
    desk.register()
    mobile = asleep("later")
    for number in range(3):
        call = wire.call(server, "later")
        simulator.wait_event(mobile.push.token, "call", after=number)
        mobile = wire.wake(mobile)
        call.wait_status(200)
        call.hang_up()
        mobile.sleep()
        assert server.held() == 0


def test_nobody_wakes(server, wire, asleep):
    asleep("later-alone")
    call = wire.call(server, "later-alone")
    assert call.wait_final(8).status == 480
    assert server.held() == 0


def test_nobody_wakes_and_there_is_voicemail(server, wire, asleep):
    asleep("later-mailbox")
    voicemail = wire.phone(server, "voicemail", "udp", no_push())
    call = wire.call(server, "later-mailbox", f"X-Voicemail: {voicemail.endpoint.port}")
    assert call.wait_final(8).status == 200


def test_the_phone_that_wakes_declines(server, wire, simulator, asleep):
    phone = asleep("later-declines")
    call = wire.call(server, "later-declines")
    simulator.wait_event(phone.push.token, "call")
    wire.wake(phone, 180, 486)
    assert call.wait_final(8).status == 486
