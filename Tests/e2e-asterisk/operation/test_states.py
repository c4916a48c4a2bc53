# SPDX-License-Identifier: MIT
"""Hints and queues that were there before the module, or before push."""

from servers import wait_until
from sleeper import Sleeper, fcm

QUEUES = "[help]\njoinempty = no\nmember => Local/100@agents/n,0,Ann,PushWake:100\nmember => Local/101@agents/n,0,Bob,PushWake:101\n"


def started_anew(make_asterisk, phones, simulator, change):
    """100 sleeps and is known from before; 101 has no push, and registers."""
    asterisk = make_asterisk(start=False)
    asterisk.write("queues.conf", QUEUES)
    for user in ("100", "101"):
        asterisk.add_extension(user, f"hint,PushWake:{user}")
    asterisk.start()
    asterisk.wait_engine()
    Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    asterisk.stop()
    change(asterisk)
    asterisk.start()
    assert phones("101", asterisk.address).register().status == 200
    assert "Idle" not in hint(asterisk, "100")
    return asterisk


def hint(asterisk, user):
    return asterisk.cli(f"core show hint {user}").split("State:")[1].split()[0]


def are_available(asterisk):
    wait_until("the hints", lambda: [hint(asterisk, user) for user in ("100", "101")] == ["Idle", "Idle"])
    wait_until("the members", lambda: asterisk.cli("queue show help").count("Not in use") == 2)


def test_a_module_that_is_loaded_later_tells_hints_and_queues(make_asterisk, phones, simulator):
    asterisk = started_anew(make_asterisk, phones, simulator, lambda asterisk: asterisk.write(
        "modules.conf", "[modules]\nautoload = yes\nnoload = res_pushwake.so\n"))  # fmt: skip
    asterisk.cli("module load res_pushwake.so")
    are_available(asterisk)


def test_push_that_is_switched_on_later_tells_hints_and_queues(make_asterisk, phones, simulator):
    asterisk = started_anew(make_asterisk, phones, simulator, lambda asterisk: asterisk.change(
        "pushwake.conf", "wake_timeout", "wake_timout"))  # fmt: skip
    asterisk.wait_log("push is off")
    asterisk.change("pushwake.conf", "wake_timout", "wake_timeout")
    assert "done" in asterisk.cli("pushwake reload")
    are_available(asterisk)
