# SPDX-License-Identifier: MIT
"""The questions of docs/operations.md: its commands say what it says that they say."""

import re
import subprocess

import pytest

from phones import mpush_android, mpush_ios
from servers import PUSHWAKE, ROOT, wait_until

PAGE = (ROOT / "docs" / "operations.md").read_text()


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(wake_timeout=1)


def run(server, *arguments, code=0):
    done = subprocess.run([PUSHWAKE, *arguments, "--socket", server.directory / "engine.sock"], capture_output=True,
                          text=True, timeout=30, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def shown(command):
    """What the page prints below a command, with numbers, times and tokens left open."""
    block = re.search(rf"^\$ {re.escape(command)}\n(.*?)^(?:```|\$ )", PAGE, re.M | re.S)
    assert block, f"docs/operations.md does not show {command}"
    return block[1]


def shape(text):
    """A text without what differs from run to run."""
    text = re.sub(r"\w{6}…\w{4}", "TOKEN", text)
    text = re.sub(r"\d+(\.\d+)? (ms|s|min|h|d)\b", "TIME", text)
    return re.sub(r"[ ─-]+", " ", re.sub(r"\d+", "N", text)).strip()


def is_as_shown(command, output):
    """Each line that the page prints is there, in the same words."""
    lines = {shape(line) for line in output.splitlines()}
    missing = [line for line in shown(command).splitlines() if line.strip() and shape(line) not in lines]
    assert not missing, f"{command} does not say {missing}, but\n{output}"


def silent(server, wire, user, push, calls):
    """A phone whose pushes are accepted, and that never comes; it is called so often."""
    phone = wire.phone(server, user, "tcp", push=push)
    phone.register()
    phone.sleep()
    for _ in range(calls):
        assert wire.call(server, user).wait_final(10).status == 480
    return phone


def ring(server, wire, simulator, phone):
    """A call that wakes it and is answered; the phone over its new connection, asleep again."""
    call = wire.call(server, phone.user)
    simulator.wait_push(phone.push.token)
    woken = wire.again(phone, "tcp")
    woken.register()
    assert call.wait_status(200)
    return woken


def test_a_phone_does_not_ring(server, wire):
    silent(server, wire, "bob", mpush_ios(), 3)
    wait_until("the end of the last call", lambda: "timed out" in run(server, "doctor", "bob", code=1))
    is_as_shown("pushwake doctor bob", run(server, "doctor", "bob", code=1))


def test_pushes_are_accepted_and_nothing_happens(server, wire):
    silent(server, wire, "carol", mpush_android(), 3)
    output = run(server, "bindings", "carol")
    is_as_shown("pushwake bindings carol", output)
    is_as_shown("pushwake send call carol", run(server, "send", "call", "carol"))
    assert "carol" in run(server, "bindings", "--verdict", "notifications off")


def test_does_this_phone_wake(server, wire):
    phone = wire.phone(server, "ivan", "tcp", push=mpush_android())
    phone.register()
    phone.sleep()
    is_as_shown("pushwake try ivan", run(server, "try", "ivan", "--proxy", f"127.0.0.1:{server.port}", "--within", "2", code=15))


def test_it_rang_twice(server, wire):
    phones = [wire.phone(server, "dave", "tcp", push=mpush_android()) for _ in range(2)]
    for phone in phones:
        phone.answers["INVITE"] = (180,)
        phone.register()
    call = wire.call(server, "dave")
    first, _ = [phone.wait_request("INVITE") for phone in phones]
    wait_until("both ring", lambda: run(server, "trace", "dave").count("rings (180)") == 2)
    phones[0].answer(first, 200)
    assert call.wait_status(200)
    is_as_shown("pushwake trace dave", wait_until("the end", lambda: (
        text := run(server, "trace", "dave")) if "answered after" in run(server, "trace", "dave") else None))
    is_as_shown("pushwake bindings dave", run(server, "bindings", "dave"))


def test_it_worked_yesterday(server, wire, simulator):
    phone = wire.phone(server, "erin", "tcp", push=mpush_android())
    phone.register()
    phone.sleep()
    woken = ring(server, wire, simulator, phone)
    woken.sleep()
    for _ in range(3):
        assert wire.call(server, "erin").wait_final(10).status == 480
    is_as_shown("pushwake bindings show erin", run(server, "bindings", "show", "erin"))


def test_nobody_is_there_to_push(server, wire):
    phone = wire.phone(server, "grace", push=mpush_android())
    phone.register()
    output = run(server, "doctor", "frank", code=1)
    is_as_shown("pushwake doctor frank", output)
    server.rpc("pushwake.remove", "grace")
    is_as_shown("pushwake bindings grace", run(server, "bindings", "grace"))


def test_it_rings_too_late(server, wire, simulator):
    phone = wire.phone(server, "heidi", "tcp", push=mpush_android())
    phone.register()
    phone.sleep()
    ring(server, wire, simulator, phone)
    names = dict(line.split()[:2] for line in run(server, "stats").splitlines() if len(line.split()) == 2)
    for line in shown("pushwake stats").splitlines():
        assert line.split()[0] in names, f"{line} is not among {names}"


def test_every_command_of_the_page_is_run_here():
    commands = re.findall(r"^\$ (pushwake .*)$", PAGE, re.M)
    here = open(__file__, encoding="utf8").read()
    for command in commands:
        assert f'"{command}"' in here or command in KNOWN, f"{command} is shown and not run"


KNOWN = {
    "pushwake bindings restore --since 2h --reason BadDeviceToken --dry-run",  # test_restore.py
    "pushwake trace bob",  # TraceQueryTests.swift
    "pushwake canary sip:test@pbx.example.com",  # test_canary.py
    "pushwake check --user kamailio /etc/kamailio/kamailio.cfg",  # test_check.py
}
