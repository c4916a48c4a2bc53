# SPDX-License-Identifier: MIT
"""pushwake try and real phones: each fate is told as the right step."""

import json
import subprocess

import pytest

from proxy import PASSWORD
from servers import PUSHWAKE


class Trial:
    """The command under way; the proxy asks callers for a password."""

    def __init__(self, proxy, user, directory, *options):
        account = directory / "account"
        account.write_text(f"tester:{PASSWORD}\n")
        self.process = subprocess.Popen(
            [PUSHWAKE, "try", f"sip:{user}@{proxy.address('tcp')}", "--transport", "tcp", "--account", account, "--ring", "2",
             "--json", "--socket", proxy.directory / "engine.sock", *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def missing(self):
        """Exit code, the missing step, and the steps by name."""
        output, errors = self.process.communicate(timeout=90)
        assert output, errors
        last = json.loads(output)["rounds"][-1]
        return self.process.returncode, last.get("missing", {}), {step["step"]: step for step in last["steps"]}


@pytest.fixture
def trial(proxy, tmp_path):
    started = []

    def start(user, *options):
        started.append(Trial(proxy, user, tmp_path, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_killed_and_woken(phones, user, stack, transport, trial):
    phone = phones.make(stack, user, transport=transport).asleep()
    under_way = trial(user)
    phone.wake().wait_ringing()
    code, missing, steps = under_way.missing()
    assert code == 0, missing
    assert steps["end"]["state"] == "ok" and len(phone.received("CANCEL")) == 1


def test_killed_and_answered(phones, user, stack, trial):
    phone = phones.make(stack, user, transport="tcp").asleep()
    under_way = trial(user)
    phone.wake().wait_ringing()
    phone.answer()
    code, missing, steps = under_way.missing()
    assert code == 0 and "answered" in steps["end"]["text"], missing


def test_killed_for_good(phones, user, stack, trial):
    phones.make(stack, user, transport="tcp").asleep()
    code, missing, _ = trial(user, "--within", 2).missing()
    assert code == 15 and missing["step"] == "register"


def test_stopped_with_an_open_connection(phones, user, stack, trial):
    phone = phones.make(stack, user, transport="tcp").start().registered().suspend()
    code, missing, steps = trial(user, "--within", 3).missing()
    phone.resume()
    assert code == 15 and steps["push"]["state"] == "ok", missing


def test_declining(phones, user, stack, trial):
    phone = phones.make(stack, user, transport="tcp").asleep()
    under_way = trial(user)
    phone.wake().wait_ringing()
    phone.decline(486)
    code, missing, steps = under_way.missing()
    assert code == 0 and "declined" in steps["end"]["text"], missing


def test_reborn_with_another_instance(phones, user, stack, trial):
    phone = phones.make(stack, user, transport="tcp").asleep()
    under_way = trial(user)
    phone.wait_push()
    phone.instance = "<urn:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301>"
    phone.start().wait_ringing()
    code, missing, _ = under_way.missing()
    assert code == 19 and missing["step"] == "same-instance"
