# SPDX-License-Identifier: MIT
"""A phone that rings changes its network: its connection ends, it goes on ringing and registers over another one."""

import re
import subprocess

import pytest

from clock import AT_ONCE, within
from linphone import Linphone
from pjsip import PJSIP

CONNECTIONS = ["tcp", "tls"]
# baresip registers again when its time has come.
STACKS = [PJSIP, Linphone]


def cut(phone):
    """Ends its connection for both sides, as the loss of an address does."""
    server = phone.proxy.tls_port if phone.transport == "tls" else phone.proxy.port
    lines = subprocess.run(["ss", "-tnpH", "dport", "=", str(server)], capture_output=True, text=True, check=True).stdout
    ports = re.findall(rf"\S+:(\d+) +\S+ +users:.*pid={phone.process.pid},", lines)
    assert ports, lines
    for port in ports:
        subprocess.run(["ss", "-K", "sport", "=", port], capture_output=True, check=False)
        phone.proxy.wait_disconnected(port)


@pytest.fixture(params=CONNECTIONS)
def moved(request, phones, user, moving_stack):
    """A woken phone that rings and has moved, and its caller."""
    phone = phones.make(moving_stack, user, transport=request.param).asleep()
    caller = phones.caller()
    caller.call(user)
    phone.wake().wait_ringing()
    caller.wait_state("early")
    caller.wait("it rings", lambda: 180 in caller.statuses())
    registered = phone.statuses("REGISTER").count(200)
    cut(phone)
    phone.wait("it registers again", lambda: phone.statuses("REGISTER").count(200) > registered, 10)
    return phone, caller


def pytest_generate_tests(metafunc):
    if "moving_stack" in metafunc.fixturenames:
        metafunc.parametrize("moving_stack", STACKS, ids=lambda stack: stack.stack)


def test_it_stops_when_the_caller_hangs_up(moved):
    phone, caller = moved
    caller.hang_up()
    with within(AT_ONCE):
        phone.wait_ended()
        caller.wait("the 487", lambda: 487 in caller.statuses())
    assert len(phone.rung) == len(phone.received("CANCEL")) == 1


def test_it_stops_when_another_answers(moved, phones, user):
    phone, caller = moved
    other = phones.make(Linphone, user, transport="tcp").start().registered()
    other.wait_ringing()
    other.answer()
    caller.wait_established()
    with within(AT_ONCE):
        phone.wait_ended()
    assert len(phone.rung) == len(phone.received("CANCEL")) == 1
