# SPDX-License-Identifier: MIT
"""Users with more than one phone."""

import time

from phones import mpush_android, mpush_ios, rfc8599_apns, rfc8599_fcm
from servers import CONFIG, wait_until


def test_one_declines_and_the_other_answers_later(kamailio, actors):
    first = actors.phone(kamailio, "two", mpush_ios())
    second = actors.phone(kamailio, "two", rfc8599_fcm())
    first.register()
    second.register()
    caller = actors.call(kamailio, "two", "call")
    caller.wait_status(110)
    busy = first.wait_and_wake("busy")
    busy.wait_request("ACK")
    time.sleep(0.3)
    assert caller.process.poll() is None, caller.transcript()
    second.wait_and_wake("answer")
    caller.finish()
    assert 486 not in caller.statuses


def test_the_last_to_decline_ends_the_call_at_once(kamailio, actors):
    phone = actors.phone(kamailio, "decline", mpush_ios())
    phone.register()
    started = time.monotonic()
    caller = actors.call(kamailio, "decline", "call_fails", code=486)
    phone.wait_and_wake("busy")
    caller.finish()
    assert time.monotonic() - started < 2.5, "waits for phones although all have answered"


def test_a_global_decline_speaks_for_the_phones_that_sleep(kamailio, actors):
    """RFC 3261, 16.7: after a 6xx nobody else is waited for."""
    first = actors.phone(kamailio, "nobody", mpush_ios())
    second = actors.phone(kamailio, "nobody", rfc8599_fcm())
    first.register()
    second.register()
    started = time.monotonic()
    caller = actors.call(kamailio, "nobody", "call_fails", code=603)
    first.wait_and_wake("declined")
    caller.finish()
    assert time.monotonic() - started < 2.5, "waits for a phone although the user has declined"
    late = second.wake("answer")
    late.wait_status(200)
    time.sleep(0.3)
    assert late.received("INVITE") == []
    kamailio.wait_none_held()


def test_one_declines_and_the_other_never_wakes(kamailio, actors):
    first = actors.phone(kamailio, "half", mpush_ios())
    second = actors.phone(kamailio, "half", rfc8599_fcm())
    first.register()
    second.register()
    caller = actors.call(kamailio, "half", "call_fails", code=486)
    first.wait_and_wake("busy")
    caller.finish()
    kamailio.wait_none_held()


def test_two_wake_and_the_slower_is_told(kamailio, actors):
    first = actors.phone(kamailio, "both", mpush_ios())
    second = actors.phone(kamailio, "both", rfc8599_fcm())
    first.register()
    second.register()
    caller = actors.call(kamailio, "both", "call")
    ringing = first.wait_and_wake("ring")
    ringing.wait_request("INVITE")
    second.wait_and_wake("answer")
    caller.finish()
    ringing.wait_request("CANCEL")


def test_awake_phones_ring_at_once_and_sleepers_join(kamailio, actors, simulator):
    awake = actors.phone(kamailio, "mixed", rfc8599_apns(), tcp=True)
    asleep = actors.phone(kamailio, "mixed", rfc8599_fcm())
    asleep.register()
    ringing = awake.wake("ring")
    ringing.wait_status(200)
    caller = actors.call(kamailio, "mixed", "call")
    ringing.wait_request("INVITE")
    asleep.wait_and_wake("answer")
    caller.finish()
    ringing.wait_request("CANCEL")
    assert 110 not in caller.statuses and 180 in caller.statuses
    assert simulator.pushes(awake.push.token) == []


def test_the_awake_phone_declines_and_the_sleeper_answers(kamailio, actors):
    awake = actors.phone(kamailio, "mixed2", rfc8599_apns(), tcp=True)
    asleep = actors.phone(kamailio, "mixed2", rfc8599_fcm())
    asleep.register()
    busy = awake.wake("busy")
    busy.wait_status(200)
    caller = actors.call(kamailio, "mixed2", "call")
    busy.wait_request("ACK")
    asleep.wait_and_wake("answer")
    caller.finish()
    assert 486 not in caller.statuses


def test_the_awake_phone_answers_and_the_sleeper_comes_too_late(kamailio, actors):
    awake = actors.phone(kamailio, "mixed3", rfc8599_apns(), tcp=True)
    asleep = actors.phone(kamailio, "mixed3", rfc8599_fcm())
    asleep.register()
    awake.wake("answer").wait_status(200)
    actors.call(kamailio, "mixed3", "call").finish()
    late = asleep.wait_and_wake("answer")
    late.wait_status(200)
    time.sleep(0.3)
    assert late.received("INVITE") == []
    kamailio.wait_none_held()


def test_a_phone_that_registers_twice_rings_once(kamailio, actors):
    phone = actors.phone(kamailio, "twice", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "twice", "call")
    caller.wait_status(110)
    ringing = phone.wait_and_wake("answer")
    ringing.wait_request("INVITE")
    caller.finish()
    assert len(ringing.received("INVITE")) == 1


def test_two_callers_at_once_both_reach_the_phone(kamailio, actors):
    phone = actors.phone(kamailio, "popular", mpush_ios())
    phone.register()
    first = actors.call(kamailio, "popular", "call")
    second = actors.call(kamailio, "popular", "call")
    first.wait_status(110)
    second.wait_status(110)
    phone.wait_and_wake("answer")
    first.finish()
    second.finish()


def test_without_forking_the_awake_phone_rings(make_kamailio, actors):
    config = CONFIG.read_text().replace('"use_path", 1)', '"use_path", 1)\nmodparam("registrar", "append_branches", 0)')
    kamailio = make_kamailio(config=config).start().wait_engine()
    asleep = actors.phone(kamailio, "single", rfc8599_fcm())
    awake = actors.phone(kamailio, "single", rfc8599_apns(), tcp=True)
    awake_phone = awake.wake("answer")
    awake_phone.wait_status(200)
    asleep.register()
    actors.call(kamailio, "single", "call").finish()
    assert len(awake_phone.received("INVITE")) == 1


def test_a_second_caller_within_the_window_loses_nothing_when_the_first_hangs_up(make_kamailio, actors, simulator):
    kamailio = make_kamailio(settings={"ignore_same": 1500}, wake_timeout=8).start().wait_engine()
    phone = actors.phone(kamailio, "popular", mpush_android())
    phone.register()
    first = actors.call(kamailio, "popular", "call_cancelled", pause=200)
    simulator.wait_push(phone.push.token)
    second = actors.call(kamailio, "popular", "call")
    second.wait_status(110)
    assert first.finish().statuses[-2:] == [487, 200]
    simulator.wait_push(phone.push.token, after=2)
    phone.wake("answer")
    second.finish()
    assert len(simulator.calls(phone.push.token)) == 2


def test_phones_that_are_awake_ring_although_those_asleep_would_take_all_branches(make_kamailio, wire, simulator):
    config = CONFIG.read_text().replace("children=2\n", "children=2\nmax_branches=4\n", 1)
    assert "max_branches" in config
    kamailio = make_kamailio(config=config, wake_timeout=8).start().wait_engine()
    sleepers = [wire.phone(kamailio, "crowd", "udp", rfc8599_fcm()) for _ in range(4)]
    for sleeper in sleepers:
        sleeper.register()
        sleeper.sleep()
    desks = [wire.phone(kamailio, "crowd") for _ in range(2)]
    for desk in desks:
        desk.answers["INVITE"] = (180,)
        desk.register()
    call = wire.call(kamailio, "crowd")
    for desk in desks:
        desk.wait_request("INVITE")
    simulator.wait_event(sleepers[0].push.token, "call")
    wire.wake(sleepers[0])
    assert call.wait_final().status == 200
    for desk in desks:
        desk.wait_request("CANCEL")


def test_an_awake_phone_for_which_no_branch_is_left_is_not_pushed(make_kamailio, wire, simulator):
    """It could not be rung when it registers."""
    config = CONFIG.read_text().replace("children=2\n", "children=2\nmax_branches=3\n", 1)
    kamailio = make_kamailio(config=config, wake_timeout=8).start().wait_engine()
    phones = [wire.phone(kamailio, "throng", "tcp", rfc8599_fcm()) for _ in range(4)]
    for phone in phones:
        phone.answers["INVITE"] = (180,)
        phone.register()
    call = wire.call(kamailio, "throng")
    call.wait_status(180)
    wait_until("two ring", lambda: sum(len(phone.requests("INVITE")) for phone in phones) == 2)
    call.cancel()
    assert call.wait_final().status == 487
    kamailio.wait_none_held()
    assert [simulator.events(phone.push.token) for phone in phones] == [[]] * 4


def test_a_decline_that_nobody_can_have_given_leaves_the_other_phones_ringing(make_server, wire, simulator):
    """An app that showed a pushed call for 15 s ends it, and answers the INVITE that comes after that with 603."""
    server = make_server(wake_timeout=25)
    desk = wire.phone(server, "slow")
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = wire.phone(server, "slow", "udp", rfc8599_apns())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, "slow", "X-Fr-Inv: 60000")
    ringing = desk.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    time.sleep(15.3)
    late = wire.again(mobile)
    late.answers["INVITE"] = (603,)
    late.register()
    late.wait_request("INVITE")
    late.wait_request("ACK")
    desk.answer(ringing, 200)
    assert call.wait_final().status == 200
    server.wait_none_held()
