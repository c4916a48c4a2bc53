# SPDX-License-Identifier: MIT
"""FreePBX with nothing changed, and with examples/freepbx-extensions_custom.conf, called the way FreePBX calls a device.

FreePBX reads a device's dial string from Asterisk's database, puts all contacts in the place of PJSIP/100, and gives it to
Dial() with a ring time, its options and a routine for headers; then it looks at DIALSTATUS. That is all of FreePBX that
is here."""

import pytest
from conftest import ROOT
from sleeper import Sleeper, apns, fcm

EXAMPLE = (ROOT / "examples" / "freepbx-extensions_custom.conf").read_text()
USERS = ["100", "101", "102", "103"]
AROUND = """
[phones]
exten => _X.,1,Set(THISDIAL=${DB(DEVICE/${EXTEN}/dial)})
 same => n,ExecIf($["${THISDIAL:0:6}" = "PJSIP/"]?Set(THISDIAL=${PJSIP_DIAL_CONTACTS(${THISDIAL:6})}))
 same => n,Set(HASH(__SIPHEADERS,Alert-Info)=office)
 same => n,Dial(${THISDIAL},8,HhTtrb(func-apply-sipheaders^s^1))
 same => n,ExecIf($["${DIALSTATUS}" = "BUSY"]?Hangup(17))
 same => n,Goto(voicemail,s,1)

[func-apply-sipheaders]
exten => s,1,ExecIf($["${CHANNEL(channeltype)}" = "PJSIP"]?Set(PJSIP_HEADER(add,Alert-Info)=${HASH(SIPHEADERS,Alert-Info)}))
 same => n,Return()

[voicemail]
exten => s,1,Progress()
 same => n,Hangup(21)
"""


@pytest.fixture(scope="module", params=["PJSIP/{}", "Local/{}@pushwake-phone/n"])
def freepbx(request, make_session_asterisk):
    asterisk = make_session_asterisk("freepbx", EXAMPLE + AROUND, users=USERS)
    for user in USERS:
        asterisk.cli(f"database put DEVICE {user}/dial {request.param.format(user)}")
    yield asterisk
    asterisk.stop()


@pytest.mark.parametrize("parameters", [apns, fcm])
def test_a_sleeping_phone_of_freepbx_rings(freepbx, phones, simulator, parameters):
    sleeper = Sleeper(phones, freepbx, simulator, "100", parameters, "tcp")
    call = phones("caller", freepbx.address).call("100")
    awake = sleeper.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert invite["Alert-Info"] == "office", "FreePBX's headers reach the phone"
    awake.ring(invite)
    call.expect(180)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    awake.register(expires=0)


def test_the_push_has_the_callers_own_domain(freepbx, phones, simulator):
    sleeper = Sleeper(phones, freepbx, simulator, "101", fcm, "tcp")
    call = phones("caller", freepbx.address).call("101")
    assert simulator.wait_push(sleeper.token)["body"]["message"]["data"]["from-uri"] == "sip:caller@127.0.0.1"
    call.cancel()


def test_a_phone_that_wakes_joins_the_one_that_rings(freepbx, phones, simulator):
    sleeper = Sleeper(phones, freepbx, simulator, "100", fcm, "tcp")
    desk = phones("100", freepbx.address)
    desk.register()
    call = phones("caller", freepbx.address).call("100")
    invite = desk.expect_request("INVITE")
    desk.ring(invite)
    awake = sleeper.wait_and_wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    cancel = desk.expect_request("CANCEL")
    desk.reply(cancel, 200, "OK")
    desk.reply(invite, 487, "Request Terminated")
    call.end()
    desk.register(expires=0)


def test_a_phone_that_declines_is_busy(freepbx, phones, simulator):
    sleeper = Sleeper(phones, freepbx, simulator, "102", fcm, "tcp")
    call = phones("caller", freepbx.address).call("102")
    awake = sleeper.wait_and_wake()
    awake.reply(awake.expect_request("INVITE"), 486, "Busy Here")
    call.expect(486)


def test_a_phone_that_does_not_wake_leaves_the_call_to_voicemail(freepbx, phones, simulator):
    sleeper = Sleeper(phones, freepbx, simulator, "103", apns, "tcp")
    call = phones("caller", freepbx.address).call("103")
    simulator.wait_push(sleeper.token)
    call.expect(183, timeout=12)
