# SPDX-License-Identifier: MIT
"""docs/asterisk.md, docs/asterisk-pushwake.md and the samples, as printed."""

import re

import pytest
from conftest import ROOT
from phones import apns_token, fcm_token
from servers import wait_until
from sleeper import apns, fcm
from voice import voice

PAGE = (ROOT / "docs" / "asterisk.md").read_text()
WITH_APPLICATION = (ROOT / "docs" / "asterisk-pushwake.md").read_text()
QUEUE = re.search(r"^exten => 8000,1,Queue\(support\)\n", PAGE, re.M).group()
TRUNK = "\n[trunk]\nexten => _X.,1,Answer()\n same => n,Wait(2)\n"
NOTICE = re.search(r"```\n(#!/bin/sh\n# /usr/local/bin/mailbox-notice.*?)```", PAGE, re.S)[1]
def files(page):
    return dict(re.findall(r"```\n; /etc/asterisk/(\S+)\n(.*?)```", page, re.S))


FILES = {"asterisk.md": files(PAGE), "asterisk-pushwake.md": {**files(PAGE), **files(WITH_APPLICATION)}}


@pytest.fixture(scope="module", params=FILES)
def printed(request, make_session_asterisk, simulator):
    """The files of a page; only ports, and the keys of real accounts, are others."""
    printed = FILES[request.param]
    asterisk = make_session_asterisk("printed", users=[], start=False)
    address = f"127.0.0.1:{asterisk.sip_port}"
    asterisk.write("pjsip.conf", printed["pjsip.conf"].replace("0.0.0.0:5060", address))
    queue = "" if QUEUE in printed["extensions.conf"] else "[phones](+)\n" + QUEUE
    asterisk.write("extensions.conf", printed["extensions.conf"] + queue + TRUNK)
    asterisk.write("queues.conf", printed["queues.conf"])
    ours = (asterisk.host_at / "etc/pushwake.conf").read_text().replace("[general]\n", "")
    asterisk.write("pushwake.conf", printed["pushwake.conf"] + ours)
    asterisk.start()
    asterisk.wait_engine()
    yield asterisk
    asterisk.stop()


def test_the_pages_have_these_files():
    assert sorted(files(PAGE)) == ["extensions.conf", "pjsip.conf", "pushwake.conf", "queues.conf"]
    assert sorted(files(WITH_APPLICATION)) == ["extensions.conf", "queues.conf"]
    assert "PushWake(" not in re.sub(r"\[messages\].*", "", files(PAGE)["extensions.conf"], flags=re.S)


@pytest.mark.parametrize("transport, parameters, token", [
    ("udp", apns, apns_token), ("tcp", fcm, fcm_token), ("tcp", apns, apns_token)])  # fmt: skip
def test_a_sleeping_phone_rings(printed, phones, simulator, transport, parameters, token):
    token = token()
    phone = phones("100", printed.address, transport, password="change-me")
    assert phone.register(parameters(token)).status == 200
    phone.close()
    caller = phones("101", printed.address, password="change-me")
    call = caller.call("100", authenticate=True)
    call.expect(180)
    simulator.wait_push(token)
    awake = phones("100", printed.address, transport, password="change-me")
    awake.instance = phone.instance
    awake.register(parameters(token))
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


@pytest.mark.parametrize("number", ["100&Local/0900@trunk", "100&Local/0900@trunk&Local/1"])
def test_a_caller_cannot_add_a_device_to_dial(printed, phones, number):
    desk = phones("100", printed.address, password="change-me")
    assert desk.register().status == 200
    call = phones("101", printed.address, password="change-me").call(number.replace("@", "%40"), authenticate=True)
    assert call.final().status in (404, 480)
    assert desk.gets_nothing("INVITE", 0)
    assert desk.register(expires=0).status == 200


def events(simulator, token):
    return [push["body"]["message"]["data"]["event"] for push in simulator.pushes(token)]


def test_the_queue_of_the_page_wakes_its_agents(printed, phones, simulator):
    tokens = {user: fcm_token() for user in ("100", "101")}
    instances = {}
    for user, token in tokens.items():
        phone = phones(user, printed.address, "tcp", password="change-me")
        instances[user] = phone.instance
        assert phone.register(fcm(token)).status == 200
        phone.close()
    caller = phones("100", printed.address, password="change-me")
    call = caller.call("8000", authenticate=True)
    for token in tokens.values():
        simulator.wait_push(token)
    awake = phones("101", printed.address, "tcp", password="change-me")
    awake.instance = instances["101"]
    awake.register(fcm(tokens["101"]))
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    wait_until("the other agent hears of it", lambda: len(simulator.pushes(tokens["100"])) == 2)
    assert events(simulator, tokens["100"]) == ["call", "elsewhere"]
    call.end()


def test_a_phone_that_sleeps_hears_of_a_message_in_its_mailbox(make_asterisk, phones, simulator):
    asterisk = make_asterisk(start=False)
    asterisk.add_modules("app_voicemail", "res_adsi", "format_gsm", "codec_gsm")
    script = asterisk.host_at / "bin/mailbox-notice"
    script.write_text(NOTICE.replace(" pushwake send", f" {asterisk.at}/bin/pushwake send --socket {asterisk.at}/run/engine.sock"))
    script.chmod(0o755)
    asterisk.write("voicemail.conf", f"[general]\nformat = ulaw\nexternnotify = {asterisk.at}/bin/mailbox-notice\n[default]\n100 => 1234,Ann\n")
    (asterisk.host_at / "spool/voicemail").mkdir()
    asterisk.add_extension("mailbox", "VoiceMail(100@default,s)", "Hangup()")
    asterisk.start()
    asterisk.wait_engine()
    token = fcm_token()
    phone = phones("100", asterisk.address)
    assert phone.register(fcm(token)).status == 200
    phone.close()
    call = phones("caller", asterisk.address).call("mailbox")
    with voice(call.expect(200)):
        asterisk.wait_log("Recording the message")
        call.end()
    assert simulator.wait_push(token)["body"]["message"]["data"]["event"] == "voicemail"


def test_the_dialplan_of_the_page_is_the_sample():
    def steps(text):
        return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(";")]

    sample = (ROOT / "asterisk-glue" / "extensions_pushwake.conf.sample").read_text()
    assert steps(files(WITH_APPLICATION)["extensions.conf"]) == steps(sample)


def test_every_key_of_the_sample_exists(make_session_asterisk):
    sample = (ROOT / "asterisk-glue" / "pushwake.conf.sample").read_text()
    keys = re.findall(r"^;(\w+) = ", sample, re.M)
    settings = (ROOT / "docs" / "settings.md").read_text()
    assert len(keys) > 8
    assert [key for key in keys if f"`{key}`" not in settings] == []
