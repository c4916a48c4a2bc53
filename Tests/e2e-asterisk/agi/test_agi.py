# SPDX-License-Identifier: MIT
"""A dialplan without res_pushwake: AGI and FastAGI, with Kamailio as the registrar."""

import grp
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time

import pytest
from behind_kamailio import PAGE, kamailio_config, printed, printed_pjsip
from conftest import ROOT
from phones import apns_token, fcm_token
from ports import free_port
from servers import Kamailio, wait_until
from sip_phone import Phone
from sleeper import apns, fcm

class Pair:
    """Kamailio with the engine, and an Asterisk that only has AGI."""

    def __init__(self, asterisk, kamailio, fastagi):
        self.asterisk, self.kamailio, self.fastagi = asterisk, kamailio, fastagi
        self.address = ("127.0.0.1", kamailio.port)


@pytest.fixture(scope="module")
def pair(make_session_asterisk, simulator):
    asterisk = make_session_asterisk("agi", users=[], start=False)
    (asterisk.host_at / "modules/res_pushwake.so").unlink()
    shutil.copy(ROOT / "asterisk-glue/pushwake.agi", asterisk.host_at / "agi")
    # The directories of pytest are closed to other users.
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-"))
    run = directory / "run"
    run.mkdir()
    run.chmod(0o751)
    for path in (directory, run):
        shutil.chown(path, "kamailio", "kamailio")
    asterisk.mount(run, "/run/pushwake")
    asterisk.mount(asterisk.host_at / "bin/pushwake", "/usr/bin/pushwake")
    fastagi = free_port()
    # The host has no such group by name.
    settings = {"engine_socket": str(run / "engine.sock"), "fastagi_listen": f"127.0.0.1:{fastagi}",
                "engine_socket_group": asterisk.group_id}
    made = simulator.host_settings()
    for name in ("ca_file", "apns_key", "fcm_key"):
        made[name] = shutil.copy(made[name], directory)
        shutil.chown(made[name], "kamailio", "kamailio")
    # As systemd starts it after the page's usermod.
    groups = f"--groups={grp.getgrnam('kamailio').gr_gid},{asterisk.group_id}"
    kamailio = Kamailio(directory, simulator, settings={**made, **settings}, config=kamailio_config(asterisk.sip_port),
                        program=("setpriv", "--reuid=kamailio", "--regid=kamailio", groups, "kamailio"))  # fmt: skip
    asterisk.write("pjsip.conf", printed_pjsip(asterisk.sip_port, kamailio.port))
    asterisk.write("extensions.conf", printed("extensions.conf"))
    steps = re.search(r"```\n; FastAGI.*?\n(exten =>.*?)```", PAGE, re.S)[1].replace(":4573", f":{fastagi}")
    with open(asterisk.host_at / "etc/extensions.conf", "a") as file:
        file.write("[fastagi]\n" + steps)
    asterisk.add_extension("_pX.", "Goto(fastagi,${EXTEN:1},1)")
    asterisk.add_extension("_aX.", f"AGI(agi://127.0.0.1:{fastagi}/wake,${{EXTEN:1}},10)",
                           "Verbose(0,arguments went on with ${PUSHWAKE_STATUS})", "Hangup(20)")  # fmt: skip
    asterisk.add_extension("gone", f"AGI(agi://127.0.0.1:{free_port()}/wake?aor=100)",
                           "Verbose(0,gone went on with ${AGISTATUS} and ${PUSHWAKE_STATUS}.)", "Hangup(20)")  # fmt: skip
    asterisk.add_extension("_lX.", "AGI(pushwake.agi,wake,${EXTEN:1},30)",
                           "Verbose(0,lost went on with ${PUSHWAKE_STATUS} ${AGISTATUS})", "Hangup(20)")  # fmt: skip
    asterisk.add_extension("_fX.", f"AGI(agi://127.0.0.1:{fastagi}/wake?aor=${{EXTEN:1}}&timeout=10)",
                           "Verbose(0,went on with ${PUSHWAKE_STATUS} ${PUSHWAKE_WOKEN_MS})",
                           "Dial(PJSIP/${EXTEN:1}@kamailio,30)", "Hangup()")  # fmt: skip
    asterisk.add_extension("_sX.", "AGI(pushwake.agi,wake,${EXTEN:1},3)", "Verbose(0,went on with ${PUSHWAKE_STATUS})",
                           "Hangup(20)")  # fmt: skip
    asterisk.add_extension("wrong", "AGI(pushwake.agi,wake)", "Verbose(0,went on with ${PUSHWAKE_STATUS})", "Hangup(20)")
    asterisk.add_extension("_iX.", f"AGI(agi://127.0.0.1:{fastagi}/wake,${{EXTEN:1}},10,${{CHANNEL(pjsip,call-id)}})",
                           "Hangup(20)")  # fmt: skip
    asterisk.add_extension("_qX.", f"AGI(agi://127.0.0.1:{fastagi}/wake?aor=${{EXTEN:1}}&timeout=10"
                           "&pjsip_call_id=${URIENCODE(${CHANNEL(pjsip,call-id)}+%)})", "Hangup(20)")  # fmt: skip
    asterisk.add_extension("_bX.", f"AGI(agi://127.0.0.1:{fastagi}/wake?aor=${{EXTEN:1}}&pjsip_call_id=two+words)",
                           "Verbose(0,bad id went on with ${PUSHWAKE_STATUS})", "Hangup(20)")  # fmt: skip
    for over, steps in (("over", "pushwake.agi,wake,${DIALED}"), ("fastover", f"agi://127.0.0.1:{fastagi}/wake?aor=${{DIALED}}")):
        with open(asterisk.host_at / "etc/extensions.conf", "a") as file:
            file.write(f"[{over}]\nexten => _X.,1,Set(DIALED=${{EXTEN}})\n same => n,Answer()\n same => n,Wait(30)\n"
                       f"exten => h,1,AGI({steps})\n same => n,Verbose(0,{over} went on with ${{PUSHWAKE_STATUS}})\n")
    asterisk.add_extension("_oX.", "Goto(over,${EXTEN:1},1)")
    asterisk.add_extension("_rX.", "Goto(fastover,${EXTEN:1},1)")
    asterisk.add_extension("_mX.", "AGI(pushwake.agi,send,call,${EXTEN:1},Call me back)", "Hangup(20)")
    kamailio.start().wait_engine()
    asterisk.run_as_packaged()
    asterisk.start()
    yield Pair(asterisk, kamailio, fastagi)
    asterisk.stop()
    kamailio.stop()
    shutil.rmtree(directory)


class Sleeper:
    """A phone that has registered at Kamailio and gone to sleep."""

    def __init__(self, address, user, parameters=apns):
        self.address, self.user = address, user
        self.token = apns_token() if parameters is apns else fcm_token()
        self.parameters = parameters(self.token)
        with Phone(user, address) as phone:
            self.instance = phone.instance
            assert phone.register(self.parameters).status == 200

    def wake(self):
        awake = Phone(self.user, self.address)
        awake.instance = self.instance
        assert awake.register(self.parameters).status == 200
        return awake


@pytest.fixture(scope="module")
def sleepers(pair):
    """One for each test. AGI knows no contacts, so who registered less than five seconds ago counts as awake."""
    made = [Sleeper(pair.address, str(number)) for number in range(100, 120)]
    android = [Sleeper(pair.address, str(number), fcm) for number in range(120, 124)]
    time.sleep(6)
    return iter(made), iter(android)


@pytest.fixture
def sleeper(sleepers):
    return next(sleepers[0])


@pytest.fixture
def android(sleepers):
    """A phone that can be told of a hang-up: never a PushKit token."""
    return next(sleepers[1])


def test_asterisk_runs_as_its_package_has_it(pair):
    status = pathlib.Path(f"/proc/{pair.asterisk.pid}/status").read_text()
    assert re.search(r"^Groups:\s*$", status, re.M), "-G drops what usermod gave"
    assert re.search(r"^Uid:\s*(\d+)", status, re.M)[1] != "0"


@pytest.mark.parametrize("prefix", ["", "f", "p"], ids=["AGI", "FastAGI", "FastAGI as printed"])
def test_a_sleeping_phone_rings(pair, phones, sleeper, simulator, prefix):
    call = phones("caller", pair.address).call(prefix + sleeper.user)
    push = simulator.wait_push(sleeper.token)
    assert "caller" in str(push["body"])
    awake = sleeper.wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    assert len(simulator.pushes(sleeper.token)) == 1
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


@pytest.mark.parametrize("prefix, ending", [("i", ""), ("q", "+%")], ids=["argument", "query"])
def test_the_script_says_the_call_id(pair, phones, sleeper, simulator, prefix, ending):
    call = phones("caller", pair.address).call(prefix + sleeper.user)
    body = simulator.wait_push(sleeper.token)["body"]
    assert call.call_id + ending in body.values(), body
    call.cancel()


def test_what_is_no_call_id_is_named(pair, phones, sleeper, simulator):
    phones("caller", pair.address).call("b" + sleeper.user).expect_final(480)
    log = pair.asterisk.wait_log("bad id went on with FAILED")
    assert 'the pjsip_call_id "two words" is not a Call-ID' in log and "URIENCODE" in log
    assert simulator.pushes(sleeper.token) == []


def test_nobody_wakes_and_the_dialplan_goes_on(pair, phones, sleeper):
    call = phones("caller", pair.address).call("s" + sleeper.user)
    call.expect_final(480)
    pair.asterisk.wait_log("went on with TIMEOUT")


def test_nobody_is_woken_for_a_caller_who_has_hung_up(pair, phones, sleeper, simulator):
    caller = phones("caller", pair.address)
    for prefix, over in (("o", "over"), ("r", "fastover")):
        call = caller.call(prefix + sleeper.user)
        call.expect(200)
        call.end()
        log = pair.asterisk.wait_log(f" {over} went on with FAILED")
        assert "nobody is woken once the caller has hung up" in log
    assert simulator.pushes(sleeper.token) == []


def test_a_user_without_a_phone(pair, phones):
    phones("caller", pair.address).call("s999").expect_final(480)
    pair.asterisk.wait_log("went on with NOBINDING")


def test_a_caller_who_hangs_up_ends_the_wait(pair, phones, sleeper, simulator):
    call = phones("caller", pair.address).call(sleeper.user)
    simulator.wait_push(sleeper.token)
    call.cancel()
    wait_until("nothing waits", lambda: "0 active channels" in pair.asterisk.cli("core show channels count"))


def test_wrong_arguments_fail_and_the_dialplan_goes_on(pair, phones):
    phones("caller", pair.address).call("wrong").expect_final(480)
    log = pair.asterisk.wait_log("went on with FAILED")
    assert "wake AOR" in log


def test_send(pair, phones, sleeper, simulator):
    phones("caller", pair.address).call("m" + sleeper.user).expect_final(480)
    simulator.wait_push(sleeper.token)


def test_a_wait_that_starts_after_the_register_does_not_hang(pair, phones, sleeper):
    awake = sleeper.wake()
    call = phones("caller", pair.address).call("f" + sleeper.user)
    invite = awake.expect_request("INVITE", 3)
    awake.answer(invite)
    call.expect(200)
    call.end()


def test_a_hundred_waits_cost_one_connection_each(pair, phones, sleeper):
    engine = pair.kamailio.engine_pid()
    idle = len(os.listdir(f"/proc/{engine}/fd"))
    calls = [phones("caller", pair.address).call("f" + sleeper.user) for _ in range(100)]
    wait_until("a hundred wait", lambda: len(os.listdir(f"/proc/{engine}/fd")) >= idle + 100)
    assert len(os.listdir(f"/proc/{engine}/fd")) <= idle + 108
    time.sleep(0.2)
    for call in calls:
        call.cancel()


@pytest.mark.parametrize("prefix", ["", "f"], ids=["AGI", "FastAGI"])
def test_a_phone_that_was_pushed_hears_that_the_caller_hung_up(pair, phones, android, simulator, prefix):
    call = phones("caller", pair.address).call(prefix + android.user)
    simulator.wait_push(android.token)
    time.sleep(0.3)
    call.cancel()
    cancel = wait_until("cancel push", lambda: simulator.pushes(android.token)[1:], 3)[0]
    assert "cancel" in str(cancel["body"])


def test_fastagi_takes_the_arguments_of_the_dialplan(pair, phones, sleeper, simulator):
    call = phones("caller", pair.address).call("a" + sleeper.user)
    simulator.wait_push(sleeper.token)
    assert "arguments went on" not in pair.asterisk.log()
    sleeper.wake()
    pair.asterisk.wait_log("arguments went on with WOKEN")
    call.expect_final(480)


def test_the_dialplan_goes_on_when_nothing_listens_for_fastagi(pair, phones):
    phones("caller", pair.address).call("gone").expect_final(480)
    pair.asterisk.wait_log("gone went on with FAILURE and .")


def test_the_dialplan_goes_on_when_the_engine_is_lost(pair, phones, sleeper, simulator):
    """Last: the engine comes to harm, and Kamailio starts another."""
    call = phones("caller", pair.address).call("l" + sleeper.user)
    simulator.wait_push(sleeper.token)
    time.sleep(0.2)
    os.kill(pair.kamailio.engine_pid(), signal.SIGKILL)
    simulator.wait_push(sleeper.token, after=1)
    sleeper.wake()
    pair.asterisk.wait_log("lost went on with WOKEN SUCCESS")
    call.expect_final(480)
    pair.kamailio.wait_engine()
    call = phones("caller", pair.address).call("s" + sleeper.user)
    call.expect_final(480)
