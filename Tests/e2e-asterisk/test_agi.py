# SPDX-License-Identifier: MIT
"""A dialplan without res_pushwake: AGI and FastAGI, with Kamailio as the registrar."""

import os
import re
import shutil
import time

import pytest
from conftest import ROOT
from phones import apns_token
from servers import Kamailio, wait_until
from sip_phone import free_port
from test_call import apns

PAGE = (ROOT / "docs" / "asterisk.md").read_text()
BEGIN = "of a server without res_pushwake\n"


def printed(name):
    return re.search(r"```\n; /etc/asterisk/" + re.escape(name) + " " + BEGIN + r"(.*?)```", PAGE, re.S)[1]


def kamailio_config(asterisk_port):
    text = re.search(r"```\n#!KAMAILIO\n(.*?)```", PAGE, re.S)[1]
    text = re.sub(r"listen=(\w+):0.0.0.0:5080", r"listen=\1:127.0.0.1:@PORT@", text)
    text = text.replace('loadmodule "pushwake.so"', 'loadmodule "@PUSHWAKE@"').replace("5060", str(asterisk_port))
    settings = '@SETTINGS@\nmodparam("ctl", "binrpc", "unix:@CONTROL@")\n'
    text = re.sub(r'(?:modparam\("pushwake", .*\n)+', settings, text)
    return '#!KAMAILIO\nmpath="@MODULES@"\n' + text


class Pair:
    """Kamailio with the engine, and an Asterisk that only has AGI."""

    def __init__(self, asterisk, kamailio, fastagi):
        self.asterisk, self.kamailio, self.fastagi = asterisk, kamailio, fastagi
        self.address = ("127.0.0.1", kamailio.port)


@pytest.fixture(scope="module")
def pair(make_session_asterisk, simulator, tmp_path_factory, chroot):
    asterisk = make_session_asterisk("agi", users=[], start=False)
    (asterisk.host_at / "modules/res_pushwake.so").unlink()
    shutil.copy(ROOT / "asterisk-glue/pushwake.agi", asterisk.host_at / "agi")
    (chroot / "run/pushwake").mkdir(exist_ok=True)
    shutil.copy(asterisk.host_at / "bin/pushwake", chroot / "usr/bin/pushwake")
    fastagi = free_port()
    settings = {"engine_socket": str(chroot / "run/pushwake/engine.sock"), "fastagi_listen": f"127.0.0.1:{fastagi}"}
    directory = tmp_path_factory.mktemp("kamailio")
    kamailio = Kamailio(directory, simulator, settings={**simulator.host_settings(), **settings},
                        config=kamailio_config(asterisk.sip_port))  # fmt: skip
    pjsip = printed("pjsip.conf").replace("0.0.0.0:5060", f"127.0.0.1:{asterisk.sip_port}")
    asterisk.write("pjsip.conf", pjsip.replace("127.0.0.1:5080", f"127.0.0.1:{kamailio.port}"))
    asterisk.write("extensions.conf", printed("extensions.conf"))
    asterisk.add_extension("_fX.", f"AGI(agi://127.0.0.1:{fastagi}/wake?aor=${{EXTEN:1}}&timeout=10)",
                           "Verbose(0,went on with ${PUSHWAKE_STATUS} ${PUSHWAKE_WOKEN_MS})",
                           "Dial(PJSIP/${EXTEN:1}@kamailio,30)", "Hangup()")  # fmt: skip
    asterisk.add_extension("_sX.", "AGI(pushwake.agi,wake,${EXTEN:1},1)", "Verbose(0,went on with ${PUSHWAKE_STATUS})",
                           "Hangup(20)")  # fmt: skip
    asterisk.add_extension("wrong", "AGI(pushwake.agi,wake)", "Verbose(0,went on with ${PUSHWAKE_STATUS})", "Hangup(20)")
    asterisk.add_extension("_mX.", "AGI(pushwake.agi,send,chat,${EXTEN:1},Call me back)", "Hangup(20)")
    kamailio.start().wait_engine()
    asterisk.start()
    yield Pair(asterisk, kamailio, fastagi)
    asterisk.stop()
    kamailio.stop()
    (chroot / "usr/bin/pushwake").unlink()


@pytest.fixture
def sleeper(pair, phones, user):
    token = apns_token()
    phone = phones(user, pair.address)
    assert phone.register(apns(token)).status == 200
    phone.close()

    def wake():
        awake = phones(user, pair.address)
        awake.instance = phone.instance
        assert awake.register(apns(token)).status == 200
        return awake

    wake.token = token
    return wake


@pytest.mark.parametrize("prefix", ["", "f"], ids=["AGI", "FastAGI"])
def test_a_sleeping_phone_rings(pair, phones, user, sleeper, simulator, prefix):
    call = phones("caller", pair.address).call(prefix + user)
    push = simulator.wait_push(sleeper.token)
    assert "caller" in str(push["body"])
    awake = sleeper()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    assert len(simulator.pushes(sleeper.token)) == 1


def test_nobody_wakes_and_the_dialplan_goes_on(pair, phones, user, sleeper):
    call = phones("caller", pair.address).call("s" + user)
    call.expect_final(480)
    pair.asterisk.wait_log("went on with TIMEOUT")


def test_a_user_without_a_phone(pair, phones, user):
    phones("caller", pair.address).call("s" + user).expect_final(480)
    pair.asterisk.wait_log("went on with NOBINDING")


def test_a_caller_who_hangs_up_ends_the_wait(pair, phones, user, sleeper, simulator):
    call = phones("caller", pair.address).call(user)
    simulator.wait_push(sleeper.token)
    call.cancel()
    wait_until("nothing waits", lambda: "0 active channels" in pair.asterisk.cli("core show channels count"))


def test_wrong_arguments_fail_and_the_dialplan_goes_on(pair, phones):
    phones("caller", pair.address).call("wrong").expect_final(480)
    log = pair.asterisk.wait_log("went on with FAILED")
    assert "wake AOR" in log


def test_send(pair, phones, user, sleeper, simulator):
    phones("caller", pair.address).call("m" + user).expect_final(480)
    simulator.wait_push(sleeper.token)


def test_a_wait_that_starts_after_the_register_does_not_hang(pair, phones, user, sleeper):
    awake = sleeper()
    call = phones("caller", pair.address).call("f" + user)
    invite = awake.expect_request("INVITE", 3)
    awake.answer(invite)
    call.expect(200)


def test_a_hundred_waits_cost_one_connection_each(pair, phones, user, sleeper):
    engine = pair.kamailio.engine_pid()
    idle = len(os.listdir(f"/proc/{engine}/fd"))
    calls = [phones("caller", pair.address).call("f" + user) for _ in range(100)]
    wait_until("a hundred wait", lambda: len(os.listdir(f"/proc/{engine}/fd")) >= idle + 100)
    assert len(os.listdir(f"/proc/{engine}/fd")) <= idle + 108
    time.sleep(0.2)
    for call in calls:
        call.cancel()
