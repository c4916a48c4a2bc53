# SPDX-License-Identifier: MIT
"""A failure_route looks another user up, whose phone sleeps: call forwarding. And two users looked up by one script."""

import re

import pytest

from phones import no_push, rfc8599_apns, rfc8599_fcm
from servers import CALLS, wait_until


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(settings={"decline_waits": 1}, wake_timeout=3)


@pytest.fixture
def busy(server, wire):
    """A desk phone that takes no call; it has no push."""
    def make(user):
        desk = wire.phone(server, user)
        desk.answers["INVITE"] = (180, 486)
        desk.register()
        return desk

    return make


@pytest.mark.parametrize("push", [rfc8599_fcm, rfc8599_apns])
def test_busy_the_call_goes_to_a_phone_that_sleeps(server, wire, simulator, busy, asleep, push):
    busy(f"boss-{push.__name__}")
    mobile = asleep(f"deputy-{push.__name__}", push)
    call = wire.call(server, f"boss-{push.__name__}", f"X-Forward: {mobile.user}")
    simulator.wait_event(mobile.push.token, "call")
    assert server.held() == 1
    wire.wake(mobile)
    call.wait_status(200)
    server.wait_none_held()
    assert [s for s in call.statuses if s >= 200] == [200]


def test_many_in_a_row_leave_nothing_behind(server, wire, simulator, busy, asleep):
    """Each worker of the server has had such a call, and then others."""
    busy("boss-again")
    mobile = asleep("deputy-again")
    caller = wire.caller(server)
    for number in range(4):
        call = caller.call("boss-again", f"X-Forward: {mobile.user}")
        simulator.wait_event(mobile.push.token, "call", after=number)
        mobile = wire.wake(mobile)
        call.wait_status(200)
        call.hang_up()
        mobile.sleep()
    desk = wire.phone(server, "desk-after")
    desk.register()
    for _ in range(6):
        caller.call("desk-after").wait_status(200)
    server.wait_none_held()


def test_busy_and_nobody_wakes(server, wire, simulator, busy, asleep):
    busy("boss-alone")
    mobile = asleep("deputy-alone")
    call = wire.call(server, "boss-alone", f"X-Forward: {mobile.user}")
    assert call.wait_final(8).status == 480
    assert 2.9 < call.final.at - call.sent_at < 4
    simulator.wait_event(mobile.push.token, "missed")
    server.wait_none_held()


def test_busy_and_the_caller_hangs_up(server, wire, simulator, busy, asleep):
    busy("boss-left")
    mobile = asleep("deputy-left")
    call = wire.call(server, "boss-left", f"X-Forward: {mobile.user}")
    simulator.wait_event(mobile.push.token, "call")
    call.cancel()
    assert call.wait_final().status == 487
    simulator.wait_event(mobile.push.token, "cancel")
    server.wait_none_held()


def test_a_sleeper_that_does_not_wake_is_forwarded_to_another(server, wire, simulator, asleep):
    first, second = asleep("first"), asleep("second")
    call = wire.call(server, "first", "X-Forward: second")
    simulator.wait_event(second.push.token, "call", 8)
    wire.wake(second)
    call.wait_status(200)
    late = wire.again(first)
    late.register()
    assert late.requests("INVITE") == []
    server.wait_none_held()


def test_the_one_who_is_forwarded_to_declines(server, wire, simulator, busy, asleep):
    busy("boss-declined")
    mobile = asleep("deputy-declines")
    call = wire.call(server, "boss-declined", f"X-Forward: {mobile.user}")
    simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobile, 180, 486)
    assert call.wait_final().status == 486
    server.wait_none_held()


def test_forwarded_to_a_phone_that_is_awake_the_sleeper_of_that_user_joins(server, wire, simulator, busy, asleep):
    busy("boss-both")
    desk = wire.phone(server, "deputy-both")
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = asleep("deputy-both")
    call = wire.call(server, "boss-both", "X-Forward: deputy-both")
    desk.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobile)
    call.wait_status(200)
    desk.wait_request("CANCEL")
    server.wait_none_held()


def test_two_users_of_one_script_both_wake(server, wire, simulator, asleep):
    desks, mobiles = [], []
    for user in ("both-one", "both-two"):
        desk = wire.phone(server, user)
        desk.answers["INVITE"] = (180,)
        desk.register()
        desks.append(desk)
        mobiles.append(asleep(user))
    call = wire.call(server, "both-one", "X-Also: both-two")
    for desk, mobile in zip(desks, mobiles):
        desk.wait_request("INVITE")
        simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobiles[0], 180)
    wire.wake(mobiles[1])
    call.wait_status(200)
    for desk in desks:
        desk.wait_request("CANCEL")
    server.wait_none_held()


@pytest.fixture(scope="module", params=[0, 1], ids=["script ends", "script goes on"])
def group_server(request, make_server):
    return make_server(settings={"decline_waits": 1, "lookup_goes_on": request.param}, wake_timeout=3)


@pytest.mark.parametrize("push", [no_push, rfc8599_fcm])
def test_of_two_users_the_second_sleeps_and_the_first_rings(group_server, wire, simulator, push):
    awake = wire.phone(group_server, f"ahead-{push.__name__}", "tcp", push())
    awake.answers["INVITE"] = (180,)
    awake.register()
    mobile = wire.phone(group_server, f"behind-{push.__name__}", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(group_server, awake.user, f"X-Also: {mobile.user}")
    awake.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobile)
    call.wait_status(200)
    awake.wait_request("CANCEL")
    assert len(awake.requests("INVITE")) == 1
    group_server.wait_none_held()


@pytest.mark.parametrize("push", [no_push, rfc8599_fcm])
def test_the_first_sleeps_in_a_script_that_goes_on_and_the_second_rings_once(make_server, wire, simulator, push):
    server = make_server(settings={"decline_waits": 1, "lookup_goes_on": 1}, wake_timeout=20)
    mobile = wire.phone(server, "sleeps-first", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    awake = wire.phone(server, "rings-second", "tcp", push())
    awake.answers["INVITE"] = (180,)
    awake.register()
    call = wire.call(server, mobile.user, f"X-Also: {awake.user}")
    awake.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    assert server.held() == 1
    wire.wake(mobile)
    call.wait_status(200)
    awake.wait_request("CANCEL")
    assert len(awake.requests("INVITE")) == 1
    server.wait_none_held()


@pytest.mark.parametrize("alias", ["", "alias-"])
def test_both_sleep_in_a_script_that_goes_on(make_server, wire, simulator, alias):
    rewrites = '    t_newtran();\n    if ($rU =~ "^alias-") { $rU = $(rU{s.substr,6,0}); }\n    route(CHOICES);\n'
    config = CALLS.read_text().replace("    route(CHOICES);\n", rewrites, 1) if alias else None
    server = make_server(**({"config": config} if alias else {}), settings={"decline_waits": 1, "lookup_goes_on": 1}, wake_timeout=20)
    mobiles = [wire.phone(server, user, "udp", rfc8599_fcm()) for user in ("asleep-one", "asleep-two")]
    for mobile in mobiles:
        mobile.register()
        mobile.sleep()
    call = wire.call(server, f"{alias}asleep-one", "X-Also: asleep-two")
    for mobile in mobiles:
        simulator.wait_event(mobile.push.token, "call")
    wire.wake(mobiles[1])
    call.wait_status(200)
    assert re.search(r"held: 2\b", server.rpc("stats.fetch", "pushwake.held")), "it was relayed to nobody but the phone"
    server.wait_none_held()


@pytest.mark.parametrize("others", [0, 1])
def test_a_woken_phone_forwards_the_call_itself(server, wire, simulator, asleep, others):
    """get_redirects() of uac_redirect looks for the branches of the last t_relay()."""
    user = f"leads-on-{others}"
    mobile, *rest = [asleep(user) for _ in range(1 + others)]
    deputy = wire.phone(server, f"led-to-{others}")
    call = wire.call(server, user, "X-Redirect: 1")
    simulator.wait_event(mobile.push.token, "call")
    woken = wire.again(mobile)
    woken.answers["INVITE"] = ()
    woken.register()
    invite = woken.wait_request("INVITE")
    woken.uri = deputy.uri
    woken.answer(invite, 302)
    deputy.wait_request("INVITE")
    assert call.wait_final().status == 200
    server.wait_none_held()


def test_one_more_than_there_are_branches_for_is_not_held(make_server, wire, simulator):
    config = CALLS.read_text().replace("children=2\n", "children=2\nmax_branches=2\n", 1)
    config = config.replace('    pushwake_lookup("location", "sip:$hdr(X-Also)@127.0.0.1");\n', """
    pushwake_lookup("location", "sip:$(hdr(X-Also)[0])@127.0.0.1");
    pushwake_lookup("location", "sip:$(hdr(X-Also)[1])@127.0.0.1");
    exit;
""")
    server = make_server(config=config, wake_timeout=20)
    desk = wire.phone(server, "crowd")
    desk.register()
    phones = [wire.phone(server, user, "udp", rfc8599_fcm()) for user in ("crowd", "crowd-two", "crowd-three")]
    for phone in phones:
        phone.register()
        phone.sleep()
    call = wire.call(server, "crowd", "X-Also: crowd-two", "X-Also: crowd-three")
    server.wait_log("cannot hold crowd-three")
    wait_until("two wait", lambda: server.held() == 2)
    call.cancel()
    assert call.wait_final().status == 487
    server.wait_none_held()
