# SPDX-License-Identifier: MIT
"""Nobody takes the call and the script has an answer to that, voicemail, while a phone of the user sleeps on."""

import time

import pytest

from phones import DIALECTS, rfc8599_apns, rfc8599_fcm
from servers import AT_ONCE, CALLS


@pytest.fixture(scope="module")
def server(make_server, simulator):
    return make_server(settings={"decline_waits": 1} | simulator.acrobits(), wake_timeout=3)


@pytest.fixture
def voicemail(server, wire):
    box = wire.phone(server, "voicemail")
    box.answers["INVITE"] = (200,)
    return box


@pytest.fixture
def desk_and_mobile(server, wire, simulator):
    """A call to a desk phone and a mobile that sleeps and is pushed."""
    def make(user, *answers, headers=(), push=rfc8599_fcm):
        desk = wire.phone(server, user)
        desk.answers["INVITE"] = answers
        desk.register()
        mobile = wire.phone(server, user, "udp", push())
        mobile.register()
        mobile.sleep()
        call = wire.call(server, user, *headers)
        desk.wait_request("INVITE")
        simulator.wait_event(mobile.push.token, "call")
        return call, desk, mobile

    return make


def to(voicemail):
    return f"X-Voicemail: {voicemail.endpoint.port}"


RING_TIMES = ("X-Fr: 20000", "X-Fr-Inv: 600")


def test_left_ringing_it_goes_to_voicemail_after_no_answer_waits(server, wire, voicemail, desk_and_mobile):
    call, desk, mobile = desk_and_mobile("left", 180, headers=(to(voicemail), *RING_TIMES))
    invite = voicemail.wait_request("INVITE")
    assert 1.5 < invite.at - call.sent_at < 2.1
    assert invite.headers("X-Left") == ["408"]
    call.wait_status(200)
    desk.wait_request("CANCEL")
    late = wire.again(mobile)
    late.register()
    time.sleep(0.3)
    assert late.requests("INVITE") == []
    server.wait_none_held()
    assert [s for s in call.statuses if s >= 200] == [200]


def test_left_ringing_a_phone_that_wakes_in_time_has_the_call(server, wire, voicemail, desk_and_mobile):
    call, _, mobile = desk_and_mobile("woken", 180, headers=(to(voicemail), *RING_TIMES))
    time.sleep(0.9)
    wire.again(mobile).register()
    call.wait_status(200)
    assert voicemail.requests("INVITE") == []


@pytest.mark.alone
def test_declined_it_goes_to_voicemail_after_decline_waits(server, voicemail, desk_and_mobile):
    call, _, _ = desk_and_mobile("declined", 180, 486, headers=(to(voicemail),))
    invite = voicemail.wait_request("INVITE")
    assert 0.9 < invite.at - call.sent_at < 1.9
    assert invite.headers("X-Left") == ["486"]
    call.wait_status(200)


@pytest.mark.alone
def test_a_contact_that_nothing_can_be_sent_to_is_not_waited_for(server, wire, voicemail, desk_and_mobile):
    wire.phone(server, "nowhere", contact="sip:desk@[2001:db8::1]:5060").register()
    call, _, _ = desk_and_mobile("nowhere", 180, 486, headers=(to(voicemail),))
    assert 0.9 < voicemail.wait_request("INVITE").at - call.sent_at < 1.9


@pytest.mark.alone
def test_declined_by_a_desk_phone_the_caller_hears_it_after_decline_waits(server, wire, desk_and_mobile, simulator):
    call, _, mobile = desk_and_mobile("busy", 180, 486)
    assert call.wait_final().status == 486
    assert 0.9 < call.final.at - call.sent_at < 1.9
    simulator.wait_event(mobile.push.token, "missed")


@pytest.mark.parametrize("error", [404, 480, 482, 486, 488, 500, 503])
def test_an_error_of_a_desk_phone_is_no_decline_of_its_user(wire, desk_and_mobile, error):
    call, _, mobile = desk_and_mobile(f"error-{error}", error)
    time.sleep(1.4)
    wire.again(mobile).register()
    call.wait_status(200)


@pytest.mark.alone
def test_declined_for_all_it_ends_at_once(server, wire, desk_and_mobile, simulator):
    call, _, mobile = desk_and_mobile("declined-all", 603)
    assert call.wait_final().status == 603
    assert call.final.at - call.sent_at < 0.3
    assert simulator.wait_event(mobile.push.token, "elsewhere")
    late = wire.again(mobile)
    late.register()
    time.sleep(0.2)
    assert late.requests("INVITE") == []


def test_asleep_it_goes_to_voicemail_after_wake_timeout(server, wire, simulator, voicemail):
    mobile = wire.phone(server, "asleep", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, mobile.user, to(voicemail))
    invite = voicemail.wait_request("INVITE")
    assert 2.9 < invite.at - call.sent_at < 3.3
    call.wait_status(200)
    late = wire.again(mobile)
    late.register()
    time.sleep(0.3)
    assert late.requests("INVITE") == []
    assert [s for s in call.statuses if s >= 200] == [200]


def test_a_late_phone_that_shows_the_call_is_sent_its_end(server, wire, simulator, voicemail):
    voicemail.answers["INVITE"] = (183,)
    mobile = wire.phone(server, "asleep-voip", "udp", rfc8599_apns())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, mobile.user, to(voicemail))
    invite = voicemail.wait_request("INVITE")
    call.wait_status(183)
    late = wire.again(mobile)
    late.answers["INVITE"] = (180,)
    late.register()
    late.wait_request("CANCEL")
    assert late.wait_request("INVITE").headers("Call-ID") == [call.call_id]
    voicemail.answer(invite, 200)
    call.wait_status(200)
    assert 180 not in call.statuses


def test_serial_forking_goes_by_q_and_the_sleeper_joins(server, wire, simulator):
    user = "serial"
    phones = []
    for q in ("1.0", "0.5"):
        phone = wire.phone(server, user)
        phone.answers["INVITE"] = (180,)
        phone.register(600, phone.contact + f";q={q}")
        phones.append(phone)
    mobile = wire.phone(server, user, "udp", rfc8599_fcm())
    mobile.register(600, mobile.contact + ";q=0.1")
    mobile.sleep()
    call = wire.call(server, user, "X-Serial: yes")
    first = phones[0].wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    time.sleep(0.2)
    assert phones[1].requests("INVITE") == []
    phones[0].answer(first, 486)
    second = phones[1].wait_request("INVITE")
    assert second.at - first.at < 0.5, "waits although another contact is to be tried"
    woken = wire.again(mobile)
    woken.register()
    call.wait_status(200)
    phones[1].wait_request("CANCEL")


def test_serial_forking_to_the_last_that_declines(server, wire, simulator):
    user = "serial-busy"
    for q in ("1.0", "0.5"):
        phone = wire.phone(server, user)
        phone.answers["INVITE"] = (180, 486)
        phone.register(600, phone.contact + f";q={q}")
    mobile = wire.phone(server, user, "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, user, "X-Serial: yes")
    assert call.wait_final().status == 486
    assert 0.9 < call.final.at - call.sent_at < 1.4


@pytest.mark.parametrize("last, status", [((180, 200), 200), ((180, 486), 486), ((180,), 408)])
def test_serial_forking_goes_on_when_the_first_is_left_ringing(server, wire, last, status):
    """The first answers its CANCEL with 487, as phones do: that declines nothing."""
    user = f"serial-left-{status}"
    tried = []
    for q, answers in (("1.0", (180,)), ("0.5", last)):
        phone = wire.phone(server, user)
        phone.answers["INVITE"] = answers
        phone.register(600, phone.contact + f";q={q}")
        tried.append(phone)
    mobile = wire.phone(server, user, "udp", rfc8599_fcm())
    mobile.register(600, mobile.contact + ";q=0.1")
    mobile.sleep()
    call = wire.call(server, user, "X-Serial: yes", *RING_TIMES)
    first, second = (phone.wait_request("INVITE") for phone in tried)
    assert 0.5 < second.at - first.at < 1.1
    assert call.wait_final(6).status == status
    if status != 200:
        assert 0.9 < call.final.at - second.at < 2.2
    server.wait_none_held()


def test_a_phone_that_is_left_ringing_is_waited_for_as_one_that_declined(make_server, wire):
    server = make_server(settings={"decline_waits": 3}, wake_timeout=6)
    desk = wire.phone(server, "left")
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = wire.phone(server, "left", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, "left", *RING_TIMES)
    assert call.wait_final(8).status == 408
    assert 3.4 < call.final.at - call.sent_at < 4.3


@pytest.fixture
def at_voicemail(server, wire, simulator, voicemail):
    """A call that nobody woke for: a mailbox rings, and phones may join for so many seconds."""
    def make(user, seconds, push=rfc8599_fcm):
        voicemail.answers["INVITE"] = (183,)
        mobile = wire.phone(server, user, "udp", push())
        mobile.register()
        mobile.sleep()
        call = wire.call(server, user, to(voicemail), f"X-Keep: {seconds}")
        return call, mobile, voicemail.wait_request("INVITE", 6)

    return make


@pytest.mark.alone
@pytest.mark.parametrize("push", [rfc8599_fcm, rfc8599_apns])
def test_asked_to_a_late_phone_rings_beside_voicemail(server, wire, voicemail, at_voicemail, push):
    call, mobile, _ = at_voicemail(f"beside-{push.__name__}", 10, push)
    late = wire.again(mobile)
    late.answers["INVITE"] = (180,)
    registered = late.register()
    ringing = late.wait_request("INVITE")
    assert ringing.at - registered.at < AT_ONCE
    call.wait_status(180)
    time.sleep(0.2)
    assert late.requests("CANCEL") == [] and call.final is None
    late.answer(ringing, 200)
    call.wait_status(200)
    voicemail.wait_request("CANCEL")
    server.wait_none_held()


def test_asked_to_voicemail_that_answers_ends_the_ringing(server, wire, simulator, voicemail, at_voicemail):
    call, mobile, invite = at_voicemail("mailbox-first", 10)
    late = wire.again(mobile)
    late.answers["INVITE"] = (180,)
    late.register()
    late.wait_request("INVITE")
    call.wait_status(180)
    voicemail.answer(invite, 200)
    call.wait_status(200)
    late.wait_request("CANCEL")
    again = wire.again(late)
    again.register()
    time.sleep(0.2)
    assert again.requests("INVITE") == []
    assert [s for s in call.statuses if s >= 200] == [200]


def test_asked_to_a_phone_that_declines_leaves_the_call_to_voicemail(server, wire, voicemail, at_voicemail):
    call, mobile, invite = at_voicemail("declines-late", 10)
    late = wire.again(mobile)
    late.answers["INVITE"] = (180, 486)
    late.register()
    late.wait_request("ACK")
    time.sleep(0.3)
    assert call.final is None
    voicemail.answer(invite, 200)
    call.wait_status(200)


def test_asked_to_only_so_long(server, wire, voicemail, at_voicemail):
    call, mobile, invite = at_voicemail("too-late", 1)
    time.sleep(max(0, invite.at + 1.2 - time.time()))
    late = wire.again(mobile)
    late.register()
    time.sleep(0.3)
    assert late.requests("INVITE") == []
    voicemail.answer(invite, 200)
    call.wait_status(200)


def test_asked_to_and_hung_up(server, wire, simulator, voicemail, at_voicemail):
    call, mobile, _ = at_voicemail("hangs-up", 10)
    late = wire.again(mobile)
    late.answers["INVITE"] = (180,)
    late.register()
    call.wait_status(180)
    call.cancel()
    assert call.wait_final().status == 487
    late.wait_request("CANCEL")
    voicemail.wait_request("CANCEL")
    server.wait_none_held()


def test_asked_to_after_a_decline_too(server, wire, voicemail, desk_and_mobile):
    voicemail.answers["INVITE"] = (183,)
    call, desk, mobile = desk_and_mobile("declined-then", 180, 486, headers=(to(voicemail), "X-Keep: 10"))
    voicemail.wait_request("INVITE")
    late = wire.again(mobile)
    late.register()
    call.wait_status(200)
    voicemail.wait_request("CANCEL")
    assert len(desk.requests("INVITE")) == 1


def test_asked_to_of_a_call_that_is_not_held_it_does_nothing(server, wire, voicemail):
    """A desk phone alone: no phone of the user can be pushed."""
    desk = wire.phone(server, "desk-only")
    desk.answers["INVITE"] = (180, 486)
    desk.register()
    call = wire.call(server, "desk-only", to(voicemail), "X-Keep: 10")
    call.wait_status(200)


@pytest.mark.parametrize("push", DIALECTS)
def test_a_lone_phone_that_declines_ends_the_call_at_once_in_every_dialect(server, wire, push):
    phone = wire.phone(server, f"declines-{push.__name__}", "tcp", push())
    phone.answers["INVITE"] = (180, 486)
    phone.register()
    call = wire.call(server, phone.user)
    assert call.wait_final().status == 486
    assert call.answers[-1].at - call.sent_at < 0.5


@pytest.mark.parametrize("push", DIALECTS)
def test_a_phone_that_wakes_and_declines_ends_the_call_at_once_in_every_dialect(server, wire, simulator, push):
    phone = wire.phone(server, f"woken-declines-{push.__name__}", "tcp", push())
    phone.register()
    phone.suspend()
    call = wire.call(server, phone.user)
    simulator.wait_push(phone.push.token)
    woken = wire.again(phone)
    woken.answers["INVITE"] = (180, 486)
    registered = woken.register()
    assert call.wait_final().status == 486
    assert call.answers[-1].at - registered.at < 0.5


@pytest.mark.parametrize("is_asleep", [False, True])
def test_the_longest_life_that_a_script_gives_a_call_counts_for_whoever_rings(server, wire, simulator, is_asleep):
    """t_set_max_lifetime(): from the INVITE for who is awake, from the ringing for who had to be woken."""
    phone = wire.phone(server, f"short-{is_asleep}", "tcp", rfc8599_fcm())
    phone.answers["INVITE"] = (180,)
    phone.register()
    if is_asleep:
        phone.sleep()
    call = wire.call(server, phone.user, "X-Life: 2000", *RING_TIMES[:1])
    if is_asleep:
        simulator.wait_event(phone.push.token, "call")
        time.sleep(1)
        phone = wire.wake(phone, 180)
    invite = phone.wait_request("INVITE")
    final = call.wait_final(8)
    assert final.status == 408 and 1.5 < final.at - invite.at < 3
    phone.wait_request("CANCEL")
    server.wait_none_held()


@pytest.mark.parametrize("route", ["PUSHWAKE", "UNANSWERED"])
def test_nobody_wakes_and_the_script_asks_tm_for_a_timeout(make_server, wire, route):
    config = CALLS.read_text().replace("failure_route[PUSHWAKE] {", f"failure_route[{'PUSHWAKE' if route == 'PUSHWAKE' else 'OTHER'}] {{")
    config = config.replace(f"failure_route[{route}] {{\n", f"""failure_route[{route}] {{
    if (t_branch_timeout() && t_any_timeout() && !t_branch_replied()) {{ xlog("L_NOTICE", "TIMED OUT $rU\\n"); route(VOICEMAIL); }}
    exit;
""")
    server = make_server(config=config, wake_timeout=1)
    voicemail = wire.phone(server, "voicemail")
    phone = wire.phone(server, "timed", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, "timed", to(voicemail))
    call.wait_status(200)
    server.wait_log("TIMED OUT timed")
