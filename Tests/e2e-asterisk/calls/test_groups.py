# SPDX-License-Identifier: MIT
"""Several users at once: lists of AoRs, and the agents of a queue."""

import itertools
import os
import time
from pathlib import Path

import pytest
from phones import fcm_token
from servers import wait_until
from sleeper import apns, fcm

DIALPLAN = """
[phones](+)
exten => _group-.,1,PushWake(${{EXTEN:6:3}}&${{EXTEN:9:3}},10,r)
 same => n,Verbose(0,${{EXTEN}}: ${{PUSHWAKE_STATUS}} ${{PUSHWAKE_CONTACTS}})
 same => n,GotoIf($["${{PUSHWAKE_CONTACTS}}" = ""]?nobody)
 same => n,Dial(${{PUSHWAKE_CONTACTS}}&Local/${{EXTEN}}@together,15)
 same => n,ExecIf($["${{DIALSTATUS}}" = "BUSY"]?Hangup(17))
 same => n(nobody),Hangup(20)
[together]
exten => _group-.,1,PushWake(,,j)
 same => n,GotoIf($["${{PUSHWAKE_STATUS}}" != "WOKEN"]?end)
 same => n,Dial(${{PUSHWAKE_CONTACTS}}&Local/${{EXTEN}}@together)
 same => n,ExecIf($["${{DIALSTATUS}}" = "BUSY"]?Hangup(17))
 same => n(end),Hangup(20)
"""


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    from conftest import SAMPLE

    made = make_session_asterisk("groups", extensions=SAMPLE.read_text() + DIALPLAN.format())
    yield made
    made.stop()


_pairs = itertools.count(100, 2)
CROWD = [str(number) for number in range(150, 157)]
LARGE = [str(number) for number in range(145, 150)]


@pytest.fixture
def pair():
    """Two users that no other test has."""
    first = next(_pairs)
    return str(first), str(first + 1)


def group(pair):
    return "group-" + "".join(pair)


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_any_of_a_group_is_woken_and_answers(sleeper, caller, pair, who, transport):
    members = [sleeper(of=user, transport=transport) for user in pair]
    call = caller.call(group(pair))
    for member in members:
        member.simulator.wait_push(member.token)
    awake = members[who].wake()
    invite = awake.expect_request("INVITE")
    assert f"sip:{pair[who]}@" in invite.uri
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_a_bracket_in_a_contact_keeps_nobody_from_joining(phones, asterisk, simulator, caller, sleeper, pair):
    desk = phones(pair[0], asterisk.address)
    assert desk.register(";x=[").status == 200
    member = sleeper(fcm, of=pair[1])
    call = caller.call(group(pair))
    assert ";x=[" in desk.expect_request("INVITE").uri.replace("%5B", "[")
    awake = member.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_contacts_that_fill_more_than_one_dial_all_ring(phones, asterisk, caller, sleeper):
    """A dialplan reads no more than 4095 bytes from a variable: the last contacts, and the leg through which others join."""
    desks = [phones(user, asterisk.address) for user in LARGE[1:]]
    for desk in desks:
        more = [("Contact", f"<{desk.contact};x={number}{'x' * 420}>") for number in range(4)]
        assert desk.register(f";x={'y' * 420}", headers=more).status == 200
    member = sleeper(fcm, of=LARGE[0])
    asterisk.add_extension("many", f"PushWake({'&'.join(LARGE)},20,r)",
                           "Dial(${PUSHWAKE_CONTACTS}&Local/group-many@together,20)", "Hangup(20)")  # fmt: skip
    call = caller.call("many")
    for desk in desks:
        rung = set()
        while len(rung) < 5:
            invite = desk.expect_request("INVITE")
            desk.ring(invite)
            rung.add(invite.uri)
    awake = member.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_more_phones_join_than_a_call_may_be_forwarded(asterisk, sleeper, caller):
    """Each phone that joins forks once more; a channel may be forwarded 20 times unless it says less."""
    members = [sleeper(fcm, of=user) for user in CROWD]
    asterisk.add_extension("crowd", "Set(CHANNEL(max_forwards)=4)", f"PushWake({'&'.join(CROWD)},20,r)",
                           "Dial(${PUSHWAKE_CONTACTS}&Local/group-crowd@together,20)", "Hangup(20)")  # fmt: skip
    call = caller.call("crowd")
    for member in members:
        awake = member.wait_and_wake()
        invite = awake.expect_request("INVITE")
        awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()


def test_both_of_a_group_ring(sleeper, caller, pair):
    members = [sleeper(fcm, of=user) for user in pair]
    call = caller.call(group(pair))
    ringing = []
    for member in members:
        awake = member.wait_and_wake()
        ringing.append((awake, awake.expect_request("INVITE")))
        awake.ring(ringing[-1][1])
    call.expect(180)
    ringing[1][0].answer(ringing[1][1])
    call.expect(200)
    ringing[0][0].expect_request("CANCEL")
    call.end()


def test_who_still_sleeps_hears_that_another_of_the_group_answered(sleeper, caller, pair):
    first, second = (sleeper(fcm, of=user) for user in pair)
    call = caller.call(group(pair))
    awake = first.wait_and_wake()
    second.simulator.wait_push(second.token)
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    wait_until("it hears of it", lambda: len(second.pushes) == 2)
    assert "elsewhere" in str(second.pushes[1])
    call.end()


def test_one_of_a_group_is_awake_and_the_other_joins(sleeper, phones, caller, pair, asterisk):
    desk = phones(pair[0], asterisk.address)
    desk.register()
    phone = sleeper(of=pair[1])
    call = caller.call(group(pair))
    desk.ring(desk.expect_request("INVITE"))
    call.expect(180)
    awake = phone.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    desk.expect_request("CANCEL")
    call.end()


def test_a_suspended_member_of_a_group_is_pushed(frozen, phones, caller, pair, asterisk):
    phone = frozen(of=pair[0])
    desk = phones(pair[1], asterisk.address)
    desk.register()
    call = caller.call(group(pair))
    desk.ring(desk.expect_request("INVITE"))
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.answer(invite)
    call.expect(200)
    call.end()


def test_all_of_a_group_decline(sleeper, caller, pair):
    members = [sleeper(of=user) for user in pair]
    call = caller.call(group(pair))
    for member in members:
        awake = member.wait_and_wake()
        awake.reply(awake.expect_request("INVITE"), 486, "Busy Here")
    started = time.monotonic()
    call.expect_final(486)
    assert time.monotonic() - started < 1


def test_a_group_of_nobody(caller, pair, asterisk):
    call = caller.call(group(pair))
    call.expect_final(480)
    asterisk.wait_log(f"{group(pair)}: NOBINDING")


# ---- Queues


def agents(asterisk, name, users, **settings):
    lines = [f"{key} = {value}" for key, value in settings.items()]
    lines += [f"member => Local/{user}@agents/n,0,{user},PushWake:{user}" for user in users]
    with open(asterisk.host_at / "etc/queues.conf", "a") as f:
        f.write(f"[{name}]\n" + "\n".join(lines) + "\n")
    asterisk.add_extension(f"q-{name}", f"Queue({name},,,,20)", "Verbose(0,left the queue: ${QUEUESTATUS})", "Hangup(20)")
    asterisk.cli("queue reload all")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("parameters", [apns, fcm])
def test_a_queue_wakes_its_agent(sleeper, caller, pair, asterisk, parameters, transport):
    phone = sleeper(parameters, transport, of=pair[0])
    name = f"one-{pair[0]}"
    agents(asterisk, name, [pair[0]], joinempty="no", timeout=10)
    call = caller.call(f"q-{name}")
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert invite.at - awake.woken_at < 0.5
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    assert len(phone.pushes) == 1


def test_a_queue_wakes_an_agent_whose_app_is_suspended(frozen, caller, pair, asterisk):
    phone = frozen(of=pair[0])
    name = f"frozen-{pair[0]}"
    agents(asterisk, name, [pair[0]], joinempty="no", timeout=10)
    call = caller.call(f"q-{name}")
    awake = phone.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_a_queue_rings_all_its_agents_and_the_others_hear_who_answered(sleeper, caller, pair, asterisk):
    first, second = (sleeper(fcm, of=user) for user in pair)
    name = f"all-{pair[0]}"
    agents(asterisk, name, pair, strategy="ringall", joinempty="no", timeout=10)
    call = caller.call(f"q-{name}")
    second.simulator.wait_push(second.token)
    awake = first.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    wait_until("the other hears of it", lambda: len(second.pushes) == 2)
    assert "elsewhere" in str(second.pushes[1])
    call.end()


def test_an_agent_who_is_being_woken_counts_as_ringing(sleeper, caller, pair, asterisk):
    """Or a second caller of the queue would wake the same phone."""
    phone = sleeper(fcm, "tcp", of=pair[0])
    asterisk.wait_log(f"from AOR '{pair[0]}' due to shutdown")
    asterisk.add_extension(pair[0], f"hint,PushWake:{pair[0]}")
    name = f"busy-{pair[0]}"
    agents(asterisk, name, [pair[0]], joinempty="no", ringinuse="no", timeout=10)
    call = caller.call(f"q-{name}")
    phone.simulator.wait_push(phone.token)

    def state():
        return asterisk.cli(f"core show hint {pair[0]}").split("State:")[1].split()[0]

    wait_until("the agent rings", lambda: state() == "Ringing", 3)
    call.cancel()
    wait_until("the agent is free", lambda: state() == "Idle", 3)


def cpu_seconds(asterisk):
    fields = Path(f"/proc/{asterisk.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_one_user_is_given_up_while_another_sleeps(sleeper, phones, caller, asterisk, pair):
    """What is over must not keep the run from its channel, nor from sleeping."""
    refused = phones(pair[0], asterisk.address, "tcp")
    refused.register(fcm("unregistered-" + fcm_token()))
    refused.close()
    asterisk.wait_log(f"from AOR '{pair[0]}' due to shutdown")
    member = sleeper(of=pair[1])
    asterisk.add_extension(f"limited-{pair[0]}", f"PushWake({'&'.join(pair)},10)", "Hangup(20)")
    call = caller.call(f"limited-{pair[0]}")
    member.simulator.wait_push(member.token)
    asterisk.wait_log(f"event=call aor={pair[0]}")
    used = cpu_seconds(asterisk)
    time.sleep(1)
    assert cpu_seconds(asterisk) - used < 0.5
    asterisk.cli("channel request hangup all")
    call.final(2)
