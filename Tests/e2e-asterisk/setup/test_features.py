# SPDX-License-Identifier: MIT
"""Features of Asterisk that dial by themselves, with what the manual of older releases printed for them."""

import re

from conftest import SAMPLE
from servers import wait_until
from sleeper import Sleeper, fcm

COMEBACK = """
[comeback]
exten => _PJSIP_X.,1,Goto(phones,${EXTEN:6},1)
"""
PARKING = """
[default]
comebacktoorigin = no
comebackcontext = comeback
"""
FOLLOW_ME = """
[100]
context = agents
number = 100,25
"""


def transfer(phone, invite, target):
    """A phone that was called sends its caller elsewhere."""
    phone.send(
        f"REFER {re.search('<([^>]+)>', invite['Contact'])[1]} SIP/2.0",
        [
            ("Via", phone._via()), ("Max-Forwards", 70), ("From", f"{invite['To']};tag={phone.tag}"), ("To", invite["From"]),
            ("Call-ID", invite["Call-ID"]), ("CSeq", "77 REFER"), ("Contact", f"<{phone.contact}>"), ("Refer-To", f"<{target}>"),
        ],
    )  # fmt: skip
    assert phone.expect_response(invite["Call-ID"], "REFER").status == 202


def end(call, phone, asterisk):
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")
    wait_until("no channel is left", lambda: "0 active channels" in asterisk.cli("core show channels"))


def test_a_parked_call_that_comes_back_wakes_its_phone(make_asterisk, phones, simulator):
    asterisk = make_asterisk(extensions=SAMPLE.read_text() + COMEBACK, settings={"wake_timeout": 10}, start=False)
    asterisk.add_modules("res_parking", "res_pjsip_refer")
    asterisk.write("res_parking.conf", PARKING + "parkext = 700\nparkpos = 701-720\ncontext = phones\nparkingtime = 3\n")
    asterisk.start()
    asterisk.wait_engine()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    call = phones("caller", asterisk.address).call("100")
    awake = sleeper.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.answer(invite)
    call.expect(200)
    # Asterisk transfers nobody whose bridge is not made yet.
    wait_until("they talk", lambda: asterisk.log().count("joined 'simple_bridge'") == 2)
    transfer(awake, invite, f"sip:700@127.0.0.1:{asterisk.sip_port}")
    wait_until("it is parked", lambda: "Parker Dial String" in asterisk.cli("parking show default"))
    awake.end(invite)
    sleeper.fall_asleep(awake)
    simulator.wait_push(sleeper.token, after=1)
    again = sleeper.wake()
    again.answer(again.expect_request("INVITE"))
    end(call, again, asterisk)


def test_follow_me_wakes_a_phone(make_asterisk, phones, simulator):
    asterisk = make_asterisk(settings={"wake_timeout": 10}, start=False)
    asterisk.add_modules("app_followme", "app_playback", "format_gsm", "codec_gsm")
    asterisk.write("followme.conf", FOLLOW_ME)
    asterisk.add_extension("follow", "FollowMe(100,d)", "Hangup(20)")
    asterisk.start()
    asterisk.wait_engine()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    call = phones("caller", asterisk.address).call("follow")
    simulator.wait_push(sleeper.token, 10)
    awake = sleeper.wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    end(call, awake, asterisk)
