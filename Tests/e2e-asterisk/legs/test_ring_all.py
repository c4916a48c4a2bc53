# SPDX-License-Identifier: MIT
"""ring_all: plain Dial() rings every phone of a user that wakes, and the first answer wins."""

import pytest
from phones import fcm_token
from servers import wait_until
from sip_phone import SDP
from sleeper import Sleeper, fcm
from test_plain_dial import DIALPLAN, nothing_is_left


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("ring-all", extensions=DIALPLAN, settings={"wake_timeout": 5, "ring_all": 1, "caller_pushes": 0, "device_pushes": 0})
    yield made
    made.stop()


@pytest.fixture
def rung(sleeper, caller, user):
    """A call, and phones of its user that have woken and ring, with their INVITEs."""

    def make(count=2, parameters=fcm, transport="udp"):
        sleepers = [sleeper(parameters, transport) for _ in range(count)]
        call = caller.call(user)
        phones = []
        for phone in sleepers:
            awake = phone.wait_and_wake()
            invite = awake.expect_request("INVITE")
            awake.ring(invite)
            phones.append((awake, invite))
        call.expect(180)
        return call, phones

    return make


def hears_that_it_was_answered_elsewhere(phone, invite):
    cancel = phone.expect_request("CANCEL")
    assert any("cause=200" in reason for reason in cancel.all("Reason"))
    phone.reply(cancel, 200, "OK")
    phone.reply(invite, 487, "Request Terminated")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("winner", [0, 1, 2])
def test_the_first_of_those_that_ring_takes_the_call(rung, winner, transport, asterisk):
    call, phones = rung(3, transport=transport)
    assert len({invite["Call-ID"] for _, invite in phones}) == 3
    assert {invite["X-Push-ID"] for _, invite in phones} == {call.call_id}
    assert "The Caller" in phones[1][1]["From"] and "The Caller" in phones[0][1]["From"]
    awake, invite = phones.pop(winner)
    awake.answer(invite)
    answer = call.expect(200)
    assert "m=audio" in answer.body
    for phone in phones:
        hears_that_it_was_answered_elsewhere(*phone)
    assert "2 active channels" in asterisk.cli("core show channels count")
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_the_caller_hangs_up_and_all_hear_it(rung, asterisk):
    call, phones = rung()
    call._send("CANCEL", call.target, call.cseq, call.branch)
    for phone, invite in phones:
        cancel = phone.expect_request("CANCEL")
        assert not any("cause=200" in reason for reason in cancel.all("Reason"))
        phone.reply(cancel, 200, "OK")
        phone.reply(invite, 487, "Request Terminated")
    call.expect_final(487)
    nothing_is_left(asterisk)


@pytest.mark.parametrize("first", [0, 1])
def test_one_declines_and_the_other_rings_on(rung, first, asterisk):
    call, phones = rung()
    awake, invite = phones.pop(first)
    awake.reply(invite, 486, "Busy Here")
    awake.expect_request("ACK")
    awake, invite = phones[0]
    assert awake.gets_nothing("CANCEL", 0.5)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_all_decline(rung, asterisk):
    call, phones = rung()
    for awake, invite in phones:
        awake.reply(invite, 486, "Busy Here")
        awake.expect_request("ACK")
    assert call.final().status in (480, 486)
    nothing_is_left(asterisk)


def test_one_declines_for_all(rung, asterisk):
    call, phones = rung()
    awake, invite = phones[1]
    awake.reply(invite, 603, "Decline")
    awake.expect_request("ACK")
    cancel = phones[0][0].expect_request("CANCEL")
    phones[0][0].reply(cancel, 200, "OK")
    phones[0][0].reply(phones[0][1], 487, "Request Terminated")
    call.final()
    nothing_is_left(asterisk)


def test_a_phone_beside_another_moves(sleeper, caller, user, asterisk):
    first, second = sleeper(fcm), sleeper(fcm, "tcp")
    call = caller.call(user)
    awake = first.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    other = second.wait_and_wake()
    other.ring(other.expect_request("INVITE"))
    other.close()
    again = second.wake()
    late = again.expect_request("INVITE")
    again.answer(late)
    call.expect(200)
    hears_that_it_was_answered_elsewhere(awake, invite)
    call.end()
    again.reply(again.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_those_that_are_awake_ring_together_with_who_wakes(sleeper, phones, caller, user, asterisk):
    asleep = sleeper(fcm)
    desk, tablet = phones(user, asterisk.address), phones(user, asterisk.address, "tcp")
    assert desk.register().status == 200 and tablet.register(fcm(fcm_token())).status == 200
    call = caller.call(user)
    rung = [(phone, phone.expect_request("INVITE")) for phone in (desk, tablet, asleep.wait_and_wake())]
    for phone, invite in rung:
        phone.ring(invite)
    phone, invite = rung.pop(1)
    phone.answer(invite)
    call.expect(200)
    for other in rung:
        hears_that_it_was_answered_elsewhere(*other)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_two_answer_in_the_same_moment(sleeper, caller, user, asterisk):
    """One has the call, and the other is hung up."""
    first, second = sleeper(fcm), sleeper(fcm)
    for turn in range(20):
        pushed = len(first.pushes), len(second.pushes)
        call = caller.call(user)
        first.simulator.wait_push(first.token, after=pushed[0])
        phones = [first.wake(), second.wake()]
        invites = [phone.expect_request("INVITE") for phone in phones]
        for phone, invite in zip(phones, invites, strict=True):
            phone.ring(invite)
        order = list(zip(phones, invites, strict=True))[:: 1 if turn % 2 else -1]
        for phone, invite in order:
            phone.reply(invite, 200, "OK", SDP.format(port=phone.port))
        call.expect(200)
        call.end()
        for phone in phones:
            phone.reply(phone.expect_request("BYE"), 200, "OK")
            phone.close()
    nothing_is_left(asterisk)


@pytest.mark.parametrize("winner", [0, 1])
def test_a_call_has_one_record(make_asterisk, phones, simulator, winner):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"ring_all": 1}, users=["100"], start=False)
    asterisk.add_modules("cdr_csv")
    asterisk.write("cdr.conf", "[general]\nenable = yes\n[csv]\nusegmtime = yes\n")
    (asterisk.host_at / "log/cdr-csv").mkdir()
    asterisk.start()
    asterisk.wait_engine()
    sleepers = [Sleeper(phones, asterisk, simulator, "100", fcm) for _ in range(2)]
    call = phones("caller", asterisk.address).call("100")
    rung = []
    for sleeper in sleepers:
        awake = sleeper.wait_and_wake()
        rung.append((awake, awake.expect_request("INVITE")))
        awake.ring(rung[-1][1])
    awake, invite = rung.pop(winner)
    awake.answer(invite)
    call.expect(200)
    hears_that_it_was_answered_elsewhere(*rung[0])
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)
    path = asterisk.host_at / "log/cdr-csv/Master.csv"
    wait_until("a record", lambda: path.exists() and path.read_text().strip())
    records = path.read_text().splitlines()
    assert len(records) == 1 and '"ANSWERED"' in records[0], "\n".join(records)


@pytest.mark.parametrize("winner", [0, 1])
def test_a_queue_rings_all_phones_of_its_member(make_asterisk, phones, simulator, winner):
    dialplan = DIALPLAN + "exten => 700,1,Answer()\n same => n,Queue(sales)\n"
    asterisk = make_asterisk(extensions=dialplan, settings={"ring_all": 1}, users=["100"], start=False)
    asterisk.write("queues.conf", "[sales]\nstrategy = ringall\ntimeout = 20\nringinuse = no\nmember => PJSIP/100\n")
    asterisk.start()
    asterisk.wait_engine()
    sleepers = [Sleeper(phones, asterisk, simulator, "100", fcm) for _ in range(2)]
    call = phones("caller", asterisk.address).call("700")
    call.expect(200)
    rung = []
    for sleeper in sleepers:
        awake = sleeper.wait_and_wake()
        rung.append((awake, awake.expect_request("INVITE")))
        awake.ring(rung[-1][1])
    awake, invite = rung.pop(winner)
    awake.answer(invite)
    hears_that_it_was_answered_elsewhere(*rung[0])
    wait_until("the member has the call", lambda: "(in call)" in asterisk.cli("queue show sales"), 5, 0.2)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_the_engine_dies_while_they_ring(make_asterisk, phones, simulator):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"ring_all": 1, "wake_timeout": 20}, users=["100"])
    sleepers = [Sleeper(phones, asterisk, simulator, "100", fcm) for _ in range(3)]
    call = phones("caller", asterisk.address).call("100")
    rung = []
    for sleeper in sleepers[:2]:
        awake = sleeper.wait_and_wake()
        rung.append((awake, awake.expect_request("INVITE")))
        awake.ring(rung[-1][1])
    asterisk.kill_engine()
    late = sleepers[2].wake()
    invite = late.expect_request("INVITE", 10)
    late.ring(invite)
    late.answer(invite)
    call.expect(200)
    for other in rung:
        hears_that_it_was_answered_elsewhere(*other)
    call.end()
    late.reply(late.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)
