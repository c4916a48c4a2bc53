# SPDX-License-Identifier: MIT
"""Texts that the dialplan sends to phones that seem to be awake: who does not answer gets them by push."""

import time

import pytest
from phones import fcm_token
from servers import wait_until
from sleeper import fcm

SILENT_AFTER = 1.5


def texts(phone):
    return [push["body"]["message"]["data"]["text"] for push in phone.pushes]


def test_a_text_for_a_phone_whose_app_is_suspended_is_pushed(frozen, caller, user):
    phone = frozen(fcm)
    assert caller.message(user, "Are you there?").status == 202
    phone.socket.expect_request("MESSAGE")
    sent = time.monotonic()
    wait_until("it is pushed", lambda: phone.pushes, SILENT_AFTER + 2)
    assert time.monotonic() - sent > SILENT_AFTER - 0.5
    assert texts(phone) == ["Are you there?"]


@pytest.mark.parametrize("encoding, content", [
    ("utf-8", "text/plain;charset=utf-8"),
    ("cp1252", "text/plain;charset=windows-1252"),
    ("cp1252", "text/plain;charset=iso-8859-1"),
    ("cp1252", "text/plain"),  # an old phone does not say it
])
def test_a_text_is_shown_in_its_charset_with_the_name_of_its_sender(sleeper, phones, asterisk, user, encoding, content):
    phone = sleeper(fcm)
    sender = phones("caller", asterisk.address)
    sender.encoding = encoding
    sender.name = "Jürg Noël"
    call_id = sender.begin_message(user, "Grüße – 5 €", [("Content-Type", content)])
    assert sender.expect_response(call_id, "MESSAGE").status == 202
    phone.simulator.wait_push(phone.token)
    assert texts(phone) == ["Grüße – 5 €"]
    assert phone.pushes[0]["body"]["message"]["data"]["display-name"] == "Jürg Noël"


def test_a_sender_that_the_dialplan_names_is_the_one_that_is_shown(sleeper, phones, asterisk, user):
    with open(asterisk.host_at / "etc/extensions.conf", "a") as file:
        file.write(f'\n[messages](+)\nexten => as-{user},1,Set(MESSAGE(from)="Desk" <sip:desk@example.org>)\n same => n,PushWake({user},,m)\n')
    asterisk.cli("dialplan reload")
    phone = sleeper(fcm)
    sender = phones("caller", asterisk.address)
    sender.name = "Jürg"
    assert sender.message(f"as-{user}", "hello").status == 202
    push = phone.simulator.wait_push(phone.token)["body"]["message"]["data"]
    assert (push["display-name"], push["from-uri"]) == ("Desk", "sip:desk@example.org")


def test_a_text_whose_connection_ends_without_an_answer_is_pushed(frozen, caller, user):
    phone = frozen(fcm)
    assert caller.message(user, "Are you there?").status == 202
    phone.socket.expect_request("MESSAGE")
    phone.socket.close()
    wait_until("it is pushed", lambda: texts(phone) == ["Are you there?"], SILENT_AFTER + 2)


@pytest.mark.parametrize("status, reason", [(200, "OK"), (486, "Busy Here")])
def test_a_text_that_the_phone_answers_is_not_pushed(frozen, caller, user, status, reason):
    phone = frozen(fcm)
    assert caller.message(user, "Are you there?").status == 202
    phone.socket.reply(phone.socket.expect_request("MESSAGE"), status, reason)
    time.sleep(SILENT_AFTER + 0.5)
    assert phone.pushes == []


def test_a_text_that_may_wait_is_pushed_too(frozen, asterisk, caller, user):
    with open(asterisk.host_at / "etc/extensions.conf", "a") as file:
        file.write(f"\n[messages](+)\nexten => wait-{user},1,PushWake({user},10,m)\n same => n,MessageSend(pjsip:${{PUSHWAKE_CONTACTS:6}},${{MESSAGE(from)}})\n")
    asterisk.cli("dialplan reload")
    phone = frozen(fcm)
    assert caller.message(f"wait-{user}", "Are you there?").status == 202
    phone.socket.expect_request("MESSAGE")
    wait_until("it is pushed", lambda: texts(phone) == ["Are you there?"], SILENT_AFTER + 2)


def test_each_phone_of_a_user_has_a_text_once(frozen, sleeper, phones, asterisk, caller, user, simulator):
    asleep, suspended = sleeper(fcm), frozen(fcm)
    awake, token = phones(user, asterisk.address, "tcp"), fcm_token()
    assert awake.register(fcm(token)).status == 200
    assert caller.message(user, "Lunch?").status == 202
    awake.reply(awake.expect_request("MESSAGE"), 200, "OK")
    wait_until("the suspended one has it", lambda: texts(suspended) == ["Lunch?"], SILENT_AFTER + 2)
    time.sleep(0.5)
    assert texts(asleep) == texts(suspended) == ["Lunch?"] and simulator.pushes(token) == []
    assert awake.gets_nothing("MESSAGE", 0)


def test_two_texts_in_a_row_are_both_pushed(frozen, caller, user):
    phone = frozen(fcm)
    for text in ("one", "two"):
        assert caller.message(user, text).status == 202
    wait_until("both are pushed", lambda: sorted(texts(phone)) == ["one", "two"], SILENT_AFTER + 2)


def test_a_text_that_comes_while_no_engine_answers_is_pushed_by_the_next(make_asterisk, phones, simulator):
    asterisk = make_asterisk()
    phone, token = phones("101", asterisk.address, "tcp"), fcm_token()
    assert phone.register(fcm(token)).status == 200
    asterisk.kill_engine()
    assert phones("caller", asterisk.address).message("101", "Are you there?").status == 202
    phone.expect_request("MESSAGE")
    assert simulator.wait_push(token, 15)["body"]["message"]["data"]["text"] == "Are you there?"


@pytest.mark.parametrize("command", ["module unload res_pushwake.so", "core stop gracefully", "core stop now"])
def test_a_text_that_still_waits_for_its_answer_is_pushed_when_nobody_waits_any_more(make_asterisk, phones, simulator, command):
    asterisk = make_asterisk()
    phone, token = phones("101", asterisk.address, "tcp"), fcm_token()
    assert phone.register(fcm(token)).status == 200
    assert phones("caller", asterisk.address).message("101", "Are you there?").status == 202
    phone.expect_request("MESSAGE")
    asterisk.cli(command)
    assert simulator.wait_push(token)["body"]["message"]["data"]["text"] == "Are you there?"
