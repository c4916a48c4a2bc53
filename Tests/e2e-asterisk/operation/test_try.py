# SPDX-License-Identifier: MIT
"""pushwake try wakes a phone through a real Asterisk, which tells the caller 180 before any phone rings."""

import json
import subprocess

from servers import PUSHWAKE


def trial(asterisk, user, *options):
    at = f"127.0.0.1:{asterisk.sip_port}"
    return subprocess.Popen(
        [PUSHWAKE, "try", f"sip:{user}@{at}", "--from", f"sip:caller@{at}", "--json", "--ring", "1",
         "--socket", asterisk.directory / "engine.sock", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    """Exit code, the missing step, and the steps by name."""
    output, errors = process.communicate(timeout=60)
    assert output, errors
    last = json.loads(output)["rounds"][-1]
    return process.returncode, last.get("missing", {}), {step["step"]: step for step in last["steps"]}


def test_a_phone_that_is_woken_misses_no_step(asterisk, sleeper, user):
    phone = sleeper()
    process = trial(asterisk, user)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.reply(awake.expect_request("CANCEL", 10), 200, "OK")
    awake.reply(invite, 487, "Request Terminated")
    code, missing, steps = ended(process)
    assert code == 0 and steps["100/180"]["state"] == "ok", missing


def test_a_phone_that_never_registers(asterisk, sleeper, user):
    sleeper()
    code, missing, _ = ended(trial(asterisk, user, "--within", "2"))
    assert code == 15 and missing["step"] == "register"
