# SPDX-License-Identifier: MIT
"""Features of Asterisk that dial PJSIP/100 by themselves, with nothing changed for push."""

import re

import pytest
from servers import wait_until
from sleeper import Sleeper, fcm
from test_plain_dial import DIALPLAN, nothing_is_left, take

MORE = """
exten => follow,1,FollowMe(100,d)
 same => n,Hangup(20)
exten => 159,1,Dial(PJSIP/159,40)
"""


@pytest.fixture
def plain(make_asterisk):
    def make(*modules, files=None, **options):
        made = make_asterisk(extensions=DIALPLAN + MORE, settings={"wake_timeout": 10}, start=False, **options)
        made.add_modules(*modules)
        for name, text in (files or {}).items():
            made.write(name, text)
        made.start()
        made.wait_engine()
        return made

    return make


def talk(asterisk, phones, sleeper, number="100"):
    """A call that the sleeper has taken: call, phone, INVITE."""
    count = len(sleeper.pushes)
    call = phones("caller", asterisk.address).call(number)
    sleeper.simulator.wait_push(sleeper.token, after=count)
    awake = sleeper.wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    # Asterisk transfers nobody whose bridge is not made yet.
    wait_until("they talk", lambda: asterisk.log().count("joined 'simple_bridge'") >= 2)
    return call, awake, invite


def test_a_parked_call_comes_back_to_a_phone_that_sleeps(plain, phones, simulator):
    parking = "[default]\nparkext = 700\nparkpos = 701-720\ncontext = phones\nparkingtime = 3\ncomebacktoorigin = yes\n"
    asterisk = plain("res_parking", "res_pjsip_refer", files={"res_parking.conf": parking})
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    call, awake, invite = talk(asterisk, phones, sleeper)
    assert awake.refer(invite, "700").status == 202
    wait_until("it is parked", lambda: "Parker Dial String" in asterisk.cli("parking show default"))
    awake.end(invite)
    sleeper.fall_asleep(awake)
    simulator.wait_push(sleeper.token, after=1)
    again = sleeper.wake()
    again.answer(again.expect_request("INVITE"))
    call.end()
    again.reply(again.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_follow_me_wakes_a_phone(plain, phones, simulator):
    asterisk = plain("app_followme", "app_playback", "format_gsm", "codec_gsm",
                     files={"followme.conf": "[100]\ncontext = phones\nnumber = 100,25\n"})  # fmt: skip
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    call = phones("caller", asterisk.address).call("follow")
    simulator.wait_push(sleeper.token, 10)
    awake = sleeper.wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


@pytest.mark.parametrize("answers_before", [True, False])
def test_an_attended_transfer_to_a_phone_that_sleeps(plain, phones, simulator, answers_before):
    """The desk phone has the caller, calls the sleeper, and joins both: when the sleeper has answered, or while it wakes."""
    asterisk = plain("res_pjsip_refer")

    def channels():
        return asterisk.cli("core show channels concise")

    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    desk = phones("159", asterisk.address)
    assert desk.register().status == 200
    call = phones("caller", asterisk.address).call("159")
    invite = desk.expect_request("INVITE")
    desk.answer(invite)
    call.expect(200)
    question = desk.call("100", authenticate=True)
    simulator.wait_push(sleeper.token)
    if answers_before:
        awake = sleeper.wake()
        theirs = awake.expect_request("INVITE")
        awake.ring(theirs)
        awake.answer(theirs)
        question.expect(200)
        tag = re.search("tag=([^;]+)", question.to)[1]
    else:
        tag = re.search("tag=([^;]+)", question.expect(180)["To"])[1]
    wait_until("they talk", lambda: asterisk.log().count("joined 'simple_bridge'") >= (4 if answers_before else 2))
    replaces = f"{question.call_id}%3Bto-tag%3D{tag}%3Bfrom-tag%3D{question.from_tag}".replace("@", "%40")
    assert desk.refer(invite, "100", replaces).status == 202
    if not answers_before:
        awake = sleeper.wake()
        theirs = awake.expect_request("INVITE")
        awake.ring(theirs)
        awake.answer(theirs)
    wait_until("both talk", lambda: {"caller", "100"} <= set(re.findall(r"PJSIP/(\w+)-\w+!phones!.*!Up!", channels())), 10, 0.2)
    wait_until("the desk phone is out", lambda: "PJSIP/159-" not in channels(), 10, 0.2)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_the_events_of_a_call_are_those_of_any_call(plain, phones, simulator):
    """CEL of a woken call, beside those of a call to a phone that is awake."""
    asterisk = plain("cel_custom", "res_cdrel_custom", files={
        "cel.conf": "[general]\nenable = yes\napps = dial\nevents = ALL\n",
        "cel_custom.conf": "[mappings]\nMaster.csv => ${eventtype},${CHANNEL(channame)}\n",
    })  # fmt: skip
    path = asterisk.host_at / "log/cel-custom/Master.csv"
    path.parent.mkdir(exist_ok=True)

    def events(make_call):
        before = path.read_text() if path.exists() else ""
        make_call()
        nothing_is_left(asterisk)
        wait_until("its last event", lambda: path.exists() and "LINKEDID_END" in path.read_text()[len(before):])
        return re.findall(r"^\"?([A-Z_]+)", path.read_text()[len(before):], re.M)

    def to_desk():
        desk = phones("159", asterisk.address)
        assert desk.register().status == 200
        take(phones("caller", asterisk.address).call("159"), desk, desk.expect_request("INVITE"))

    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)

    def to_sleeper():
        call = phones("caller", asterisk.address).call("100")
        awake = sleeper.wait_and_wake()
        take(call, awake, awake.expect_request("INVITE"))

    assert sorted(events(to_sleeper)) == sorted(events(to_desk))


def test_a_phone_that_wakes_rings_beside_those_that_are_awake(plain, phones, simulator):
    """PJSIP_DIAL_CONTACTS has the place of phones that sleep, too."""
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    desk = phones("100", asterisk.address)
    assert desk.register().status == 200
    asterisk.wait_contact("100")
    call = phones("caller", asterisk.address).call("all100")
    there = desk.expect_request("INVITE")
    desk.ring(there)
    awake = sleeper.wait_and_wake()
    here = awake.expect_request("INVITE")
    awake.ring(here)
    assert desk.gets_nothing("INVITE", 0.3) and awake.gets_nothing("INVITE", 0)
    awake.answer(here)
    call.expect(200)
    cancel = desk.expect_request("CANCEL")
    assert any("cause=200" in reason for reason in cancel.all("Reason"))
    desk.reply(cancel, 200, "OK")
    desk.reply(there, 487, "Request Terminated")
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


@pytest.mark.parametrize("number", ["100", "all100"])
def test_the_only_phone_of_a_user_is_called_once_while_it_is_awake(plain, phones, simulator, number):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    awake = sleeper.wake()
    wait_until("it has no companion", lambda: "transport=pushwake" not in asterisk.cli("pjsip show aor 100"), 5, 0.1)
    call = phones("caller", asterisk.address).call(number)
    invite = awake.expect_request("INVITE")
    assert asterisk.cli("core show channels concise").count("PJSIP/100-") == 1
    take(call, awake, invite)
    assert sleeper.pushes == []


def test_all_contacts_of_a_user_ring_each_once(plain, phones, simulator):
    """PJSIP_DIAL_CONTACTS: two phones are awake, and the user has push."""
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    desks = [phones("100", asterisk.address, "tcp") for _ in range(2)]
    for desk in desks:
        assert desk.register().status == 200
    call = phones("caller", asterisk.address).call("all100")
    invites = [desk.expect_request("INVITE") for desk in desks]
    for desk, invite in zip(desks, invites):
        desk.ring(invite)
        assert desk.gets_nothing("INVITE", 0.3)
    desks[0].answer(invites[0])
    call.expect(200)
    cancel = desks[1].expect_request("CANCEL")
    assert any("cause=200" in reason for reason in cancel.all("Reason"))
    desks[1].reply(cancel, 200, "OK")
    desks[1].reply(invites[1], 487, "Request Terminated")
    call.end()
    desks[0].reply(desks[0].expect_request("BYE"), 200, "OK")
    assert sleeper.registered
    nothing_is_left(asterisk)


def test_a_start_without_an_engine_rings_when_the_engine_comes(plain, phones, simulator):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    program = asterisk.host_at / "bin/pushwake"
    asterisk.stop()
    program.rename(program.with_suffix(".away"))
    asterisk.start()
    phones("caller", asterisk.address).call("100").final(8)
    program.with_suffix(".away").rename(program)
    asterisk.wait_engine(30)
    asterisk.wait_contact("100", 5)
    call, awake, _ = talk(asterisk, phones, sleeper)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)
