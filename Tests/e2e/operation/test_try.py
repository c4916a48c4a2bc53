# SPDX-License-Identifier: MIT
"""pushwake try wakes a phone by a call through a real Kamailio, and names the first step that is missing."""

import json
import os
import pathlib
import re
import subprocess
import time
import uuid

import pytest

from phones import mpush_android, rfc8599_fcm
from ports import free_port
from servers import CONFIG, LIBRARY, MODULE, MODULES, PUSHWAKE, ROOT, wait_until

STEPS = ["binding", "push", "REGISTER", "token", "instance", "one REGISTER", "request", "100/180", "end"]


class Trial:
    """The command under way."""

    def __init__(self, server, user, *options, port=None):
        self.process = subprocess.Popen(
            [PUSHWAKE, "try", f"sip:{user}@127.0.0.1:{port or server.port}", "--ring", "1",
             "--socket", server.directory / "engine.sock", *map(str, options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tell_asleep(self):
        """The tester's Enter."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, seconds=60):
        """Exit code, what it prints, and what it complains of."""
        output, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, output, errors

    def missing(self, seconds=60):
        """Exit code, the missing step of the last round, and its lines by step."""
        code, output, errors = self.end(seconds)
        assert output, errors
        report = json.loads(output)
        assert report["exit_code"] == code
        last = report["rounds"][-1]
        return code, last.get("missing", {}), {step["step"]: step for step in last["steps"]}


def asleep(wire, server, user, push=None):
    """A phone that is killed, and waits for a push."""
    phone = wire.phone(server, user, "tcp", push=push or mpush_android())
    phone.register()
    return phone.sleep()


def asleep_for_long(wire, server, user):
    """The time of a binding is known to the second."""
    def is_old():
        done = subprocess.run([PUSHWAKE, "bindings", "--json", user, "--socket", server.directory / "engine.sock"],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)[0]["registered_ago"] >= 3

    phone = asleep(wire, server, user)
    wait_until("its binding is three seconds old", is_old)
    return phone


def again(wire, phone, *answers):
    """The same phone, before it registers."""
    woken = wire.again(phone, "tcp")
    woken.answers = {"INVITE": answers, "BYE": (200,), "MESSAGE": answers}
    return woken


def wake(wire, simulator, phone, *answers):
    """It is pushed and registers over a new connection."""
    simulator.wait_push(phone.push.token)
    woken = again(wire, phone, *answers)
    woken.register()
    return woken


def test_a_killed_phone_that_is_woken_misses_no_step(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "tried")
    trial = Trial(kamailio, phone.user, "--json")
    woken = wake(wire, simulator, phone, 180)
    code, missing, steps = trial.missing()
    assert code == 0 and not missing and list(steps) == STEPS, steps
    assert "Google answers 200" in steps["push"]["text"] and "not delivered yet" in steps["push"]["text"]
    times = [steps[step]["ms"] for step in ("push", "REGISTER", "request", "100/180", "end")]
    assert times[1:] == sorted(times[1:]) and times[-1] - times[-2] >= 900, "it rang for a second"
    woken.wait_request("CANCEL")
    kamailio.wait_none_held()


def test_people_read_the_steps(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "shown")
    trial = Trial(kamailio, phone.user)
    wake(wire, simulator, phone, 180)
    code, output, errors = trial.end()
    assert code == 0 and not errors
    assert "No step is missing: the phone sleeps, wakes and rings." in output
    assert "All that happened: pushwake trace try-" in output and phone.push.token not in output


def test_each_step_is_printed_as_it_happens(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "watched")
    trial = Trial(kamailio, phone.user, "--ring", 3)
    lines = iter(trial.process.stdout.readline, "")

    def next_with(word):
        return next(line for line in lines if word in line)

    assert next_with("binding").startswith("ok") and next_with("Google answers 200").startswith("ok")
    woken = wake(wire, simulator, phone, 180)
    for step in ("REGISTER", "token", "instance", "one REGISTER", "request", "100/180"):
        assert next_with(step).startswith("ok"), step
    assert not woken.requests("CANCEL"), "the call goes on"
    assert next_with("end ").startswith("ok") and trial.process.wait(20) == 0


def test_a_phone_that_answers_is_hung_up_on(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "answers")
    trial = Trial(kamailio, phone.user, "--video", "--json")
    woken = wake(wire, simulator, phone, 180, 200)
    code, missing, steps = trial.missing()
    assert code == 0 and not missing and "answered" in steps["end"]["text"]
    assert "m=video" in woken.wait_request("INVITE").text
    woken.wait_request("BYE")


def test_a_text_is_tried_too(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "reads")
    trial = Trial(kamailio, phone.user, "--text", "--json")
    wake(wire, simulator, phone, 200)
    code, missing, steps = trial.missing()
    assert code == 0 and not missing and steps["100/180"]["text"] == "the phone takes the text"


def test_a_phone_that_never_registers(kamailio, wire):
    phone = asleep(wire, kamailio, "never")
    code, missing, steps = Trial(kamailio, phone.user, "--within", 2, "--json").missing()
    assert code == 15 and missing["step"] == "register" and missing["actor"] == "app's developer"
    assert "does not say that the phone got it" in missing["meaning"] and steps["push"]["state"] == "ok"
    code, output, _ = Trial(kamailio, phone.user, "--within", 2).end()
    assert code == 15 and "\nMISSING  REGISTER " in output and "What the app's developer has to do: " in output


def test_a_phone_that_is_too_slow(kamailio, wire):
    phone = asleep(wire, kamailio, "slow")
    trial = Trial(kamailio, phone.user, "--within", 10, "--json")
    kamailio.wait_log("ASLEEP slow", seconds=10)
    again(wire, phone, 180).register()
    code, missing, steps = trial.missing()
    assert code == 17 and missing["step"] == "late-register" and steps["REGISTER"]["ms"] > 1000


def test_a_token_that_the_provider_does_not_know(kamailio, wire):
    push = mpush_android()
    push.token = f"unregistered-{uuid.uuid4().hex}"
    phone = asleep(wire, kamailio, "wrong", push)
    code, missing, _ = Trial(kamailio, phone.user, "--within", 5, "--json").missing()
    assert code == 14 and "token-gone UNREGISTERED" in missing["meaning"] and missing["actor"] == "app's developer"
    code, missing, _ = Trial(kamailio, phone.user, "--json").missing()
    assert code == 10 and "was removed (token-gone" in missing["meaning"]


def test_a_phone_that_comes_back_with_another_token(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "changes", rfc8599_fcm())
    trial = Trial(kamailio, phone.user, "--json")
    simulator.wait_push(phone.push.token)
    woken = again(wire, phone, 180)
    woken.push = rfc8599_fcm()
    woken.register()
    code, missing, steps = trial.missing()
    assert code == 18 and missing["step"] == "same-token" and steps["100/180"]["state"] == "ok", missing


def test_a_phone_that_comes_back_with_another_instance(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "reborn")
    trial = Trial(kamailio, phone.user, "--json")
    simulator.wait_push(phone.push.token)
    woken = again(wire, phone, 180)
    woken.instance = f"urn:uuid:{uuid.uuid4()}"
    woken.register()
    code, missing, _ = trial.missing()
    assert code == 19 and woken.instance in missing["meaning"] and phone.instance in missing["meaning"]


def test_a_phone_that_comes_back_as_another_one(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "stranger", rfc8599_fcm())
    trial = Trial(kamailio, phone.user, "--json", "--within", 2)
    simulator.wait_push(phone.push.token)
    woken = again(wire, phone, 180)
    woken.push, woken.instance = rfc8599_fcm(), f"urn:uuid:{uuid.uuid4()}"
    woken.register()
    code, missing, _ = trial.missing()
    assert code == 18 and missing["step"] == "same-phone"


def test_a_phone_that_registers_three_times(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "thrice")
    trial = Trial(kamailio, phone.user, "--json")
    woken = wake(wire, simulator, phone, 180)
    woken.register()
    woken.register()
    code, missing, _ = trial.missing()
    assert code == 20 and "3 REGISTERs" in missing["meaning"]


def test_a_phone_that_is_stopped_when_it_has_registered(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "stopped")
    trial = Trial(kamailio, phone.user, "--within", 2, "--json")
    wake(wire, simulator, phone)
    code, missing, steps = trial.missing()
    assert code == 22 and missing["step"] == "answer" and steps["request"]["state"] == "ok"


def test_a_phone_that_does_not_ring(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "mute")
    trial = Trial(kamailio, phone.user, "--within", 2, "--json")
    wake(wire, simulator, phone, 100)
    code, missing, _ = trial.missing()
    assert code == 23 and missing["step"] == "ringing"


@pytest.mark.parametrize("status", [486, 603])
def test_a_phone_that_declines_by_itself(kamailio, wire, simulator, status):
    phone = asleep(wire, kamailio, f"declines-{status}")
    trial = Trial(kamailio, phone.user, "--json")
    wake(wire, simulator, phone, status)
    code, missing, _ = trial.missing()
    assert code == 24 and f"({status})" in missing["meaning"] and "Call-ID" in missing["remedy"]


def test_a_phone_whose_user_declines(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "unwilling")
    trial = Trial(kamailio, phone.user, "--json")
    woken = wake(wire, simulator, phone, 180)
    woken.answer(woken.wait_request("INVITE"), 603)
    code, missing, steps = trial.missing()
    assert code == 0 and not missing and "declined" in steps["end"]["text"]


def test_a_phone_that_goes_on_ringing(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "stubborn")
    trial = Trial(kamailio, phone.user, "--json")
    simulator.wait_push(phone.push.token)
    woken = again(wire, phone, 180)
    woken.ignores_cancel = True
    woken.register()
    code, missing, steps = trial.missing()
    assert code == 26 and missing["step"] == "cancel" and steps["100/180"]["state"] == "ok"


def test_a_pbx_that_says_ringing_before_any_phone_rings(make_kamailio, wire, simulator):
    config = CONFIG.read_text().replace(
        't_on_branch("SEEN");', 't_on_branch("SEEN");\n    if (is_method("INVITE")) { t_newtran(); t_reply("180", "Ringing"); }')
    server = make_kamailio(config=config, wake_timeout=20).start().wait_engine()
    phone = asleep(wire, server, "later")
    trial = Trial(server, phone.user, "--json")
    simulator.wait_push(phone.push.token)
    begun = time.monotonic()
    wait_until("the early 180 is old", lambda: time.monotonic() - begun > 2)
    woken = again(wire, phone, 180)
    woken.register()
    code, missing, steps = trial.missing()
    assert code == 0 and steps["100/180"]["ms"] > 2000, missing


def test_a_phone_that_is_awake_proves_nothing(kamailio, wire):
    phone = wire.phone(kamailio, "awake", "tcp", push=mpush_android())
    phone.answers = {"INVITE": (180,)}
    phone.register()
    code, missing, _ = Trial(kamailio, phone.user, "--json").missing()
    assert code == 12 and missing["actor"] == "tester" and "swipe" in missing["remedy"]


def test_the_call_comes_long_after_the_push(kamailio, wire, simulator):
    phone = asleep_for_long(wire, kamailio, "patient")
    trial = Trial(kamailio, phone.user, "--late", 4, "--within", 5, "--json")
    woken = wake(wire, simulator, phone, 180)
    code, missing, steps = trial.missing()
    assert code == 0 and not missing, missing
    assert woken.wait_request("INVITE").headers("Call-ID")[0] in json.dumps(simulator.pushes(phone.push.token)[0])
    assert "after the push" in steps["REGISTER"]["text"]


def test_a_phone_that_refuses_the_call_when_it_comes_late(kamailio, wire, simulator):
    phone = asleep_for_long(wire, kamailio, "impatient")
    trial = Trial(kamailio, phone.user, "--late", 4, "--json")
    wake(wire, simulator, phone, 603)
    code, missing, _ = trial.missing()
    assert code == 25 and "4 s after its push" in missing["meaning"] and "(603)" in missing["meaning"]


def test_a_phone_that_wakes_twice_and_then_no_more(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "tired")
    trial = Trial(kamailio, phone.user, "--repeat", 4, "--within", 2, "--json")
    for number in range(2):
        trial.tell_asleep()
        simulator.wait_event(phone.push.token, "call", after=number)
        woken = again(wire, phone, 180)
        woken.register()
        woken.wait_request("CANCEL", 10)
        woken.sleep()
    trial.tell_asleep()
    code, missing, _ = trial.missing()
    assert code == 16 and "after 2 pushes" in missing["meaning"] and "CallKit" in missing["remedy"]


def test_the_last_of_several_rounds_is_after_a_restart(kamailio, wire, simulator):
    phone = asleep(wire, kamailio, "restarted")
    trial = Trial(kamailio, phone.user, "--repeat", 2)
    for number in range(2):
        trial.tell_asleep()
        simulator.wait_event(phone.push.token, "call", after=number)
        woken = again(wire, phone, 180)
        woken.register()
        woken.wait_request("CANCEL", 10)
        woken.sleep()
    code, _, errors = trial.end()
    assert code == 0
    assert re.search(r"Close the app.*\(1 of 2\).*Restart the phone.*\(2 of 2\)", errors, re.S)


def test_a_user_without_a_phone(kamailio):
    code, missing, _ = Trial(kamailio, "nobody-there", "--json").missing()
    assert code == 10 and "pushwake parse" in missing["remedy"]


def test_a_call_that_does_not_get_there(kamailio, wire):
    phone = asleep(wire, kamailio, "unreached")
    code, missing, _ = Trial(kamailio, phone.user, "--within", 1, "--json", port=free_port()).missing()
    assert code == 11 and missing["actor"] == "administrator" and "--proxy" in missing["remedy"]


def test_without_an_engine_nothing_can_be_tried(tmp_path):
    done = subprocess.run([PUSHWAKE, "try", "bob", "--socket", tmp_path / "none"], capture_output=True, text=True,
                          timeout=20, check=False)
    assert done.returncode == 1 and "no engine answers" in done.stderr and not done.stdout.strip().startswith("ok")


@pytest.mark.parametrize("arguments", [
    ["b ob"], ["sip:bob"], ["bob", "--repeat", "0"], ["bob", "--late", "0"], ["bob", "--within", "0"],
    ["bob", "--ring", "0"], ["bob", "--video", "--text"], ["bob", "--transport", "tls"],
    ["bob", "--account", "/nonexistent"]])
def test_what_cannot_be_tried_is_refused(arguments):
    done = subprocess.run([PUSHWAKE, "try", *arguments], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2 and done.stderr


# Without a user: the installed configuration.

INSTALLED = ROOT / "examples" / "kamailio.cfg"


def installed(tmp_path, change=lambda text: text):
    """The configuration that the README shows, as it is installed: its keys are not there yet."""
    path = tmp_path / "kamailio.cfg"
    path.write_text(change(INSTALLED.read_text().replace("#!KAMAILIO", f'#!KAMAILIO\nmpath="{MODULES}:{MODULE.parent}"')))
    return path


def try_server(path, *options):
    return subprocess.run([PUSHWAKE, "try", "--config", path, *options], capture_output=True, text=True, timeout=90,
                          env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)}, check=False)


def test_a_fresh_installation_is_tried_without_any_phone(tmp_path):
    before = set(pathlib.Path("/tmp").glob("pushwake-try-*"))
    done = try_server(installed(tmp_path, lambda text: text.replace("#!KAMAILIO", "#!KAMAILIO\nlisten=udp:192.0.2.1:5060")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the phone rings" in done.stdout and "The server side works." in done.stdout
    left = set(pathlib.Path("/tmp").glob("pushwake-try-*")) - before
    # Other tests may have such directories for a while.
    wait_until("the directories are gone", lambda: not any(path.exists() for path in left), 60, 0.1)


def test_a_configuration_that_wakes_nobody_is_named(tmp_path):
    done = try_server(installed(tmp_path, lambda text: text.replace('pushwake_lookup("location")', "-1")), "--json")
    assert done.returncode == 11, done.stdout + done.stderr
    assert "pushwake_lookup()" in json.loads(done.stdout)["rounds"][0]["missing"]["remedy"]


def test_a_configuration_that_does_not_start_is_told(tmp_path):
    done = try_server(installed(tmp_path, lambda text: text + "\nthis is no configuration\n"))
    assert done.returncode == 1 and "does not start" in done.stderr and "syntax error" in done.stderr
    done = try_server(tmp_path / "none.cfg")
    assert done.returncode == 1 and "--config" in done.stderr


def test_a_configuration_that_asks_for_a_password_is_told(tmp_path):
    registers = 'if (is_method("REGISTER")) {'
    asks = registers + ' sl_send_reply("401", "Unauthorized"); exit; }\n    ' + registers
    done = try_server(installed(tmp_path, lambda text: text.replace(registers, asks)))
    assert done.returncode == 1 and "password (401)" in done.stderr
