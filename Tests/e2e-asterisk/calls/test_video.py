# SPDX-License-Identifier: MIT
"""A push says whether the call has video, as Kamailio's does: through PushWake() and through AGI."""

import time
import uuid

import pytest
from ports import free_port

VIDEO = "m=video 4002 RTP/AVP 99\r\na=rtpmap:99 H264/90000\r\n"
OFF = VIDEO.replace("4002", "0")


def acrobits(token):
    return f";pn-provider=acrobits;pn-param=com.example.softphone;pn-prid={token};pn-selector=7A6F"


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk, simulator):
    fastagi = free_port()
    server = make_session_asterisk("video", start=False, settings={
        "acrobits": 1, "acrobits_url": f"{simulator.url}/pnm2/send", "fastagi_listen": f"127.0.0.1:{fastagi}"})
    text = (server.host_at / "etc/pjsip.conf").read_text()
    server.write("pjsip.conf", text.replace("allow = !all,ulaw\n", "allow = !all,ulaw,h264\n", 1)
                 + "\n[deskphone]\ntype = endpoint\ncontext = phones\nallow = !all,ulaw\n")
    server.add_extension("_aX.", f"AGI(agi://127.0.0.1:{fastagi}/wake,${{EXTEN:1}},3)", "Hangup(20)")
    server.start()
    server.wait_engine()
    yield server
    server.stop()


def asleep(asterisk, phones, user):
    """Registers and is gone; returns its token."""
    token = uuid.uuid4().hex
    phone = phones(user, asterisk.address, "tcp")
    assert phone.register(acrobits(token)).status == 200
    phone.close()
    asterisk.wait_log(f":{phone.port};transport=TCP' from AOR '{user}' due to shutdown")
    return token


def pushed(asterisk, phones, simulator, caller, lines, number, token):
    """What the push for a call says of its media."""
    calling = phones(caller, asterisk.address)
    calling.more_media = lines
    call = calling.call(number)
    body = simulator.wait_push(token)["body"]
    assert (body["verb"], body["Id"]) == ("NotifyIncomingCall", call.call_id)
    call.cancel()
    return body["Media"]


@pytest.mark.parametrize("caller, lines, media", [
    ("caller", "", "audio"), ("caller", VIDEO, "video"), ("caller", OFF, "audio"),
    # Its endpoint has no video, so no phone is called with any.
    ("deskphone", VIDEO, "audio"),
], ids=["audio", "video", "video switched off", "video that the endpoint may not have"])
def test_the_push_says_whether_there_is_video(asterisk, phones, simulator, user, caller, lines, media):
    token = asleep(asterisk, phones, user)
    assert pushed(asterisk, phones, simulator, caller, lines, user, token) == media


def test_agi_asks_the_channel_whether_there_is_video(asterisk, phones, simulator):
    tokens = {user: asleep(asterisk, phones, user) for user in ("110", "111")}
    # AGI knows no contacts, so who registered less than five seconds ago counts as awake.
    time.sleep(6)
    assert pushed(asterisk, phones, simulator, "caller", "", "a110", tokens["110"]) == "audio"
    assert pushed(asterisk, phones, simulator, "caller", VIDEO, "a111", tokens["111"]) == "video"
