# SPDX-License-Identifier: MIT
"""A phone that registers in the moment in which its caller hangs up."""

import time

import pytest
from servers import wait_until
from sleeper import fcm
from test_plain_dial import DIALPLAN, nothing_is_left


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    unlimited = {"device_pushes": 0, "caller_pushes": 0}
    made = make_session_asterisk("hang-up", extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 10, **unlimited})
    yield made
    made.stop()


def cancelled(phone):
    """Whether an INVITE has come, and its CANCEL."""
    message = phone._read(0.02)
    if message and message.is_request and message.method == "INVITE":
        phone.reply(message, 100, "Trying")
        phone.expect_request("CANCEL")
        return True
    return False


def test_it_hears_of_the_hang_up(sleeper, caller, user, asterisk):
    """By the CANCEL of its INVITE or, where that has not gone out, by push."""
    phone = sleeper(fcm)
    for count in range(30):
        before = len(phone.pushes)
        call = caller.call(user)
        phone.simulator.wait_push(phone.token, after=before)
        awake = phone._phone()
        awake.instance = phone.instance
        awake.start_register(phone.parameters)
        time.sleep(count % 10 * 0.0005)
        call._send("CANCEL", call.target, call.cseq, call.branch)
        wait_until(f"call {count} ends for the phone", lambda: cancelled(awake) or len(phone.pushes) == before + 2, 3, 0)
        assert len(phone.pushes) == before + 1 or "cancel" in str(phone.pushes[-1]["body"])
        awake.close()
        nothing_is_left(asterisk)
