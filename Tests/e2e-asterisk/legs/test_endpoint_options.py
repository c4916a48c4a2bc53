# SPDX-License-Identifier: MIT
"""What an endpoint of pjsip.conf asks for is as in any call when its phone has slept."""

import re
import subprocess
import textwrap

import pytest
from ports import free_port
from servers import wait_until
from sip_phone import SDP
from sleeper import Sleeper, fcm
from test_plain_dial import DIALPLAN, nothing_is_left, take
from voice import voice


@pytest.fixture
def woken(make_asterisk, phones, simulator):
    """A call to a phone that has slept, its INVITE, and the Asterisk: the endpoint has these options."""

    def make(options="", kind=Sleeper, **changes):
        asterisk = make_asterisk(extensions=DIALPLAN, settings={"wake_timeout": 10}, users=["100"], start=False)
        asterisk.change("pjsip.conf", "rewrite_contact = yes\n", f"rewrite_contact = yes\n{options}\n")
        for old, new in changes.items():
            asterisk.change("pjsip.conf", f"{old} = no\n", f"{old} = {new}\n")
        asterisk.start()
        asterisk.wait_engine()
        phone = kind(phones, asterisk, simulator, "100", fcm)
        caller = phones("caller", asterisk.address)
        caller.media_port = free_port()
        call = caller.call("100")
        awake = phone.wait_and_wake()
        return asterisk, call, awake, awake.expect_request("INVITE")

    return make


def test_reliable_provisional_answers(woken):
    asterisk, call, phone, invite = woken("100rel = yes")
    assert "100rel" in " ".join(invite.all("Supported"))
    phone.call_headers = [("Require", "100rel"), ("RSeq", "1")]
    phone.reply(invite, 183, "Session Progress", SDP.format(port=free_port()))
    prack = phone.expect_request("PRACK")
    assert prack["RAck"] == f"1 {invite['CSeq']}"
    phone.call_headers = []
    phone.reply(prack, 200, "OK")
    phone.answer(invite)
    call.expect(200)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")
    nothing_is_left(asterisk)


def test_session_timers(woken):
    asterisk, call, phone, invite = woken("timers = always\ntimers_sess_expires = 90")
    assert invite["Session-Expires"].startswith("90") and "timer" in " ".join(invite.all("Supported"))
    take(call, phone, invite)
    nothing_is_left(asterisk)


def test_who_calls(woken):
    asterisk, call, phone, invite = woken("send_pai = yes\nsend_rpid = yes\ntrust_id_outbound = yes")
    assert "The Caller" in invite["P-Asserted-Identity"] and "The Caller" in invite["Remote-Party-ID"]
    take(call, phone, invite)
    nothing_is_left(asterisk)


def test_media_between_the_phones(woken):
    asterisk, call, phone, invite = woken(direct_media="yes")
    phone.ring(invite)
    own = free_port()
    phone.reply(invite, 200, "OK", SDP.format(port=own))
    phone.expect_request("ACK")
    call.expect(200)
    again = phone.expect_request("INVITE")
    assert f"m=audio {call.phone.media_port} " in again.body
    phone.reply(again, 200, "OK", SDP.format(port=own))
    phone.expect_request("ACK")
    again = call.phone.expect_request("INVITE")
    assert f"m=audio {own} " in again.body
    call.phone.reply(again, 200, "OK", SDP.format(port=call.phone.media_port))
    call.phone.expect_request("ACK")


class BehindProxy(Sleeper):
    """Its endpoint has an outbound_proxy, which this phone is as well: it has the same port each time."""

    port = 0

    def _phone(self):
        return self.phones(self.user, self.asterisk.address, self.transport, port=self.port)


def test_an_outbound_proxy(woken):
    class Kind(BehindProxy):
        port = free_port()

    asterisk, call, phone, invite = woken(f"outbound_proxy = sip:127.0.0.1:{Kind.port}\\;lr", Kind)
    assert invite.all("Route") == [f"<sip:127.0.0.1:{Kind.port};lr>"]
    take(call, phone, invite)
    nothing_is_left(asterisk)


BARESIP = """
    sip_listen 127.0.0.1:{port}
    net_interface 127.0.0.1
    module_path /usr/lib/baresip/modules
    module g711.so
    module ausine.so
    module aubridge.so
    module srtp.so
    module dtls_srtp.so
    module_app account.so
    module_app menu.so
    audio_source ausine,440
    audio_player aubridge,nil
    audio_alert aubridge,bell
"""


# Codec; packets from the phone, lost, percent, jitter; packets to the phone.
HEARS = r"100-\S+ +\S+ ulaw +\d+ +\d+ +\d+ +\S+ +[1-9]"


@pytest.fixture
def baresip(tmp_path):
    """Starts a phone that answers at once, and speaks DTLS-SRTP alone."""
    made = []

    def make(asterisk, parameters):
        (tmp_path / "config").write_text(textwrap.dedent(BARESIP).format(port=free_port()))
        (tmp_path / "accounts").write_text(
            f"<sip:100@127.0.0.1:{asterisk.sip_port};transport=tcp>;auth_user=100;auth_pass=100-secret;regint=300;"
            f'answermode=auto;mediaenc=dtls_srtp;regq="0.5{parameters.replace(":", "%3A")}"\n')  # fmt: skip
        output = (tmp_path / "log").open("w")
        made.append(subprocess.Popen(["baresip", "-4", "-s", "-v", "-f", tmp_path], stdin=subprocess.DEVNULL, stdout=output, stderr=output))
        return tmp_path / "log"

    yield make
    for process in made:
        process.terminate()
        process.wait()


@pytest.mark.skipif(subprocess.run(["which", "baresip"], capture_output=True).returncode != 0, reason="no baresip")
def test_a_call_with_dtls_srtp(make_asterisk, phones, simulator, baresip):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wake_timeout": 10}, users=["100"], start=False)
    asterisk.add_modules("res_srtp")
    dtls = "media_encryption = dtls\ndtls_auto_generate_cert = yes\ndtls_setup = actpass\ndtls_verify = fingerprint\n"
    asterisk.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = yes\n" + dtls)
    asterisk.start()
    asterisk.wait_engine()
    phone = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(phone.token)
    log = baresip(asterisk, phone.parameters)
    answer = call.expect(200, 10)
    wait_until("DTLS is through", lambda: "DTLS-SRTP complete" in log.read_text(errors="replace"), 10)
    with voice(answer):
        wait_until("voice to the phone", lambda: re.search(HEARS, asterisk.cli("pjsip show channelstats")), 10, 0.2)
    call.end()
    nothing_is_left(asterisk)
