# SPDX-License-Identifier: MIT
"""The caller's name as a phone shows it: as From has it, without what quotes it there."""

import pytest

from phones import rfc8599_fcm

NAMES = {
    "Bob Smith": "Bob Smith",
    '"Bob Smith"': "Bob Smith",
    r'"\"Boss\" Bob"': '"Boss" Bob',
    r'"\"Boss\""': '"Boss"',
    r'"a\\b"': r"a\b",
}


@pytest.fixture
def named(kamailio, wire, simulator):
    """A call or a script's push, by somebody of this name, to a phone that sleeps; what its push says."""
    def call(display, user, to):
        phone = wire.phone(kamailio, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        wire.caller(kamailio, display=display + " ").call(to)
        return simulator.wait_push(phone.push.token)["body"]["message"]["data"]["display-name"]

    return call


@pytest.mark.parametrize("display, shown", NAMES.items(), ids=range(len(NAMES)))
def test_a_call_shows_it(named, display, shown):
    user = f"named-{list(NAMES).index(display)}"
    assert named(display, user, user) == shown


@pytest.mark.parametrize("display, shown", NAMES.items(), ids=range(len(NAMES)))
def test_a_push_of_the_script_shows_it(named, display, shown):
    user = f"told-{list(NAMES).index(display)}"
    assert named(display, user, f"push-{user}") == shown
