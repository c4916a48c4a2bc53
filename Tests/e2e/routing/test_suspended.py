# SPDX-License-Identifier: MIT
"""A script looks users up after it was suspended, as one does that asks a database or a web service first."""

import os
import signal

import pytest

from phones import no_push, rfc8599_fcm
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
        server.wait_none_held()


def test_nobody_wakes(server, wire, asleep):
    asleep("later-alone")
    call = wire.call(server, "later-alone")
    assert call.wait_final(8).status == 480
    server.wait_none_held()


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


@pytest.fixture(scope="module")
def slow(make_server):
    """Its failure_route asks somebody before the call goes to voicemail."""
    config = CALLS.read_text().replace("children=2\n", "children=2\nasync_workers=2\n", 1).replace(
        'loadmodule "tmx.so"', 'loadmodule "tmx.so"\nloadmodule "async.so"\nmodparam("async", "ms_timer", 10)')
    config = config.replace('    xlog("L_NOTICE", "ASLEEP $rU\\n");\n', """    xlog("L_NOTICE", "ASLEEP $rU\\n");
    pushwake_keep_waiting("10");
    xlog("L_NOTICE", "SUSPENDED $rU\\n");
    async_ms_route("AFTER", "600");
    exit;
""")
    return make_server(config=config + "\nroute[AFTER] {\n    route(VOICEMAIL);\n}\n", wake_timeout=1)


def test_a_phone_that_comes_while_the_failure_route_is_suspended_can_answer(slow, wire):
    phone = wire.phone(slow, "meanwhile", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    voicemail = wire.phone(slow, "voicemail", "udp", no_push())
    voicemail.answers["INVITE"] = (180,)
    call = wire.call(slow, phone.user, f"X-Voicemail: {voicemail.endpoint.port}")
    slow.wait_log("ASLEEP meanwhile")
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    voicemail.wait_request("CANCEL")
    slow.wait_none_held()


def asks(after, later="route(RELAY);"):
    """A script that asks somebody after it has looked up whom it calls."""
    config = CALLS.read_text().replace("children=2\n", "children=2\nasync_workers=2\n", 1).replace(
        'loadmodule "tmx.so"', 'loadmodule "tmx.so"\nloadmodule "async.so"\nmodparam("async", "ms_timer", 10)')
    relays = 'if (is_present_hf("X-Serial")) { route(SERIAL); } route(RELAY); exit;'
    assert relays in config
    return config.replace(relays, f"{after}; exit;").replace(
        "route[REGISTRAR] {", 'route[LATER] {\n    xlog("L_NOTICE", "LATER $ru\\n");\n    %s\n}\n\nroute[REGISTRAR] {' % later)


@pytest.fixture(scope="module")
def asking(make_server):
    return make_server(config=asks('async_task_route("LATER")'), settings={"decline_waits": 1}, wake_timeout=3)


@pytest.fixture(scope="module")
def asking_long(make_server):
    return make_server(config=asks('async_ms_route("LATER", "600")'), settings={"decline_waits": 1}, wake_timeout=3)


def test_between_lookup_and_relay_all_who_are_awake_ring(asking, wire, simulator):
    desk, mobile = wire.phone(asking, "between"), wire.phone(asking, "between", "tcp", rfc8599_fcm())
    desk.answers["INVITE"] = (180,)
    for phone in (desk, mobile):
        phone.register()
    call = wire.call(asking, "between")
    assert call.wait_final().status == 200
    desk.wait_request("CANCEL")
    assert len(desk.requests("INVITE")) == 1 and len(mobile.requests("INVITE")) == 1
    assert asking.log_text().count("LATER") == 1
    assert simulator.pushes(mobile.push.token) == []
    assert 110 not in call.statuses


def test_between_lookup_and_relay_a_phone_that_wakes_joins(asking, wire, simulator):
    desk, mobile = wire.phone(asking, "joins"), wire.phone(asking, "joins", "udp", rfc8599_fcm())
    desk.answers["INVITE"] = (180,)
    for phone in (desk, mobile):
        phone.register()
    mobile.sleep()
    call = wire.call(asking, "joins")
    desk.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobile)
    assert call.wait_final().status == 200
    desk.wait_request("CANCEL")
    asking.wait_none_held()


def test_between_lookup_and_relay_the_caller_hangs_up(asking, wire):
    desk = wire.phone(asking, "given-up")
    mobile = wire.phone(asking, "given-up", "udp", rfc8599_fcm())
    desk.answers["INVITE"] = (180,)
    for phone in (desk, mobile):
        phone.register()
    mobile.sleep()
    call = wire.call(asking, "given-up")
    desk.wait_request("INVITE")
    call.cancel()
    assert call.wait_final().status == 487
    desk.wait_request("CANCEL")
    asking.wait_none_held()


@pytest.mark.parametrize("has_desk", [True, False])
def test_who_registers_from_elsewhere_meanwhile_rings_once(asking_long, wire, has_desk):
    user = f"moved-{has_desk}"
    phone = wire.phone(asking_long, user, "tcp", rfc8599_fcm())
    phone.register()
    if has_desk:
        desk = wire.phone(asking_long, user)
        desk.answers["INVITE"] = (180,)
        desk.register()
    call = wire.call(asking_long, user)
    call.wait_status(100)
    phone.sleep()
    again = wire.again(phone)
    again.register()
    assert call.wait_final().status == 200
    if has_desk:
        desk.wait_request("CANCEL")
    assert len(again.requests("INVITE")) == 1
    assert asking_long.log_text().count(f"LATER sip:{user}@") == 1


def test_who_registers_meanwhile_without_an_engine_rings(make_server, wire, simulator):
    server = make_server(config=asks('async_ms_route("LATER", "1500")'), wake_timeout=6)
    desk, mobile = wire.phone(server, "nobody"), wire.phone(server, "nobody", "udp", rfc8599_fcm())
    desk.answers["INVITE"] = (180,)
    for phone in (desk, mobile):
        phone.register()
    mobile.sleep()
    call = wire.call(server, "nobody")
    simulator.wait_event(mobile.push.token, "call")
    os.kill(server.engine_pid(), signal.SIGKILL)
    woken = wire.again(mobile)
    woken.register()
    woken.wait_request("INVITE")
    assert call.wait_final().status == 200
    desk.wait_request("CANCEL")


@pytest.mark.parametrize("leaves", [False, True])
def test_another_user_is_looked_up_by_a_script_whose_first_phone_left_meanwhile(make_server, wire, leaves):
    config = asks('async_ms_route("LATER", "600")',
                  'pushwake_lookup("location", "sip:$hdr(X-Also)@127.0.0.1");\n    route(RELAY);')
    config = config.replace('if (is_present_hf("X-Also")) { route(ALSO); }', "", 1)
    server = make_server(config=config, settings={"decline_waits": 1}, wake_timeout=4)
    first, deputy = wire.phone(server, "first", "tcp", rfc8599_fcm()), wire.phone(server, "deputy", "udp", rfc8599_fcm())
    first.answers["INVITE"] = (180,)
    desk = wire.phone(server, "deputy")
    for phone in (first, deputy, desk):
        phone.register()
    call = wire.call(server, "first", "X-Also: deputy")
    call.wait_status(100)
    if leaves:
        first.unregister()
    assert call.wait_final().status == 200
    server.wait_none_held()
