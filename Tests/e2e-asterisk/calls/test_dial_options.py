# SPDX-License-Identifier: MIT
"""What the options of the sample's Dial() do for a phone that joins the call later, once voice flows: Asterisk takes Local
channels out of the way then, and what Dial() has hung on them with it."""

import itertools
import re
import time

import pytest
from conftest import SAMPLE
from phones import fcm_token
from servers import wait_until
from sleeper import fcm
from voice import voice

CDR = "[mappings]\nMaster.csv => ${CDR(dst)},${CDR(disposition)},${CDR(billsec)}\n"


def made(make_session_asterisk, name, options, change=None):
    text = SAMPLE.read_text()
    assert text.count(",60)") == 1
    asterisk = make_session_asterisk(name, text.replace(",60)", f",60,{options})"), settings={"wake_timeout": 10}, start=False)
    asterisk.change("pjsip.conf", "type = endpoint\n", "type = endpoint\ndtmf_mode = info\n")
    asterisk.add_modules("res_pjsip_dtmf_info", "cdr_custom", "res_cdrel_custom", "func_cdr")
    if change:
        change(asterisk)
    asterisk.start()
    asterisk.wait_engine()
    return asterisk


def one_record(asterisk):
    """As the page says."""
    asterisk.change("extensions.conf", "exten => join,1,", "exten => join,1,Set(CDR_PROP(disable)=1)\n same => n,")
    asterisk.write("cdr.conf", "[general]\nenable = yes\n")
    asterisk.write("cdr_custom.conf", CDR)
    (asterisk.host_at / "log/cdr-custom").mkdir()


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    asterisk = made(make_session_asterisk, "dial-options", "L(4000)h", one_record)
    yield asterisk
    asterisk.stop()


@pytest.fixture
def joined(asterisk, desk, sleeper, caller, user):
    """A call that a sleeping phone has joined and answered while the desk phone rang."""
    sleeping = sleeper()
    call = caller.call(user)
    desk.ring(desk.expect_request("INVITE"))
    phone = sleeping.wait_and_wake()
    invite = phone.expect_request("INVITE")
    phone.ring(invite)
    phone.answer(invite)
    return call, phone, invite, call.expect(200)


def test_a_limit_ends_the_call(joined, caller):
    _, _, invite, answer = joined
    with voice(invite, answer):
        caller.reply(caller.expect_request("BYE", timeout=8), 200, "OK")


def talk(asterisk, user):
    """Until the phone's channel is a second old."""
    age = re.compile(rf"^PJSIP/{user}-.* 00:00:0[1-9]", re.M)
    wait_until("they talk for a second", lambda: age.search(asterisk.cli("core show channels verbose")))


def test_the_phone_may_hang_up_with_a_key(joined, caller, asterisk, user):
    _, phone, invite, answer = joined
    with voice(invite, answer):
        talk(asterisk, user)
        press(phone, invite, "*")
        bye = caller.expect_request("BYE", timeout=2)
    caller.reply(bye, 200, "OK")


CSEQ = itertools.count(4000)


def press(phone, invite, key):
    body = f"Signal={key}\r\nDuration=160\r\n"
    target = invite["Contact"].split("<")[1].split(">")[0]
    head = [f"INFO {target} SIP/2.0", f"Via: {phone._via()}", "Max-Forwards: 70", f"From: {invite['To']};tag={phone.tag}",
            f"To: {invite['From']}", f"Call-ID: {invite['Call-ID']}", f"CSeq: {next(CSEQ)} INFO", f"Contact: <{phone.contact}>",
            "Content-Type: application/dtmf-relay", f"Content-Length: {len(body)}"]  # fmt: skip
    phone.socket.send(("\r\n".join(head) + "\r\n\r\n" + body).encode())


def test_the_call_has_one_answered_record(joined, user, caller, asterisk):
    call, phone, invite, answer = joined
    with voice(invite, answer):
        talk(asterisk, user)
        call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")
    records = asterisk.host_at / "log/cdr-custom/Master.csv"
    def own():
        return [line for line in records.read_text().splitlines() if line.startswith((f"{user},", "join,"))]

    wait_until("the records are written", lambda: records.exists() and len(own()) >= 2)
    assert sorted(line.split(",")[:2] for line in own()) == [[user, "ANSWERED"], [user, "FAILED"]]


def test_a_phone_that_was_called_and_transfers_with_keys_is_named_as_in_its_invite(make_session_asterisk, phones, simulator):
    def keys(asterisk):
        asterisk.add_modules("format_gsm", "codec_gsm")  # of what it says
        asterisk.write("features.conf", "[featuremap]\natxfer => *2\n")
        asterisk.add_extension("talk", "Set(__TRANSFER_CONTEXT=phones)", "Goto(phones,102,1)")

    asterisk = made(make_session_asterisk, "transfer", "t", keys)
    token = fcm_token()
    sleeping = phones("101", asterisk.address)
    assert sleeping.register(fcm(token)).status == 200
    sleeping.close()
    phone = phones("102", asterisk.address, "tcp")
    assert phone.register().status == 200
    call = phones("caller", asterisk.address).call("talk")
    invite = phone.expect_request("INVITE")
    phone.answer(invite)
    answer = call.expect(200)
    with voice(invite, answer):
        talk(asterisk, "102")
        for keys in ("*2", "101"):
            for key in keys:
                press(phone, invite, key)
                time.sleep(0.2)
            asterisk.wait_log("Started DTMF attended transfer")
        push = simulator.wait_push(token, 10)
    assert push["body"]["message"]["data"]["from-uri"] == "sip:102@127.0.0.1"
    call.end()
    asterisk.stop()
