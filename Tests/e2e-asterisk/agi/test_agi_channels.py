# SPDX-License-Identifier: MIT
"""AGI and FastAGI at the protocol: hang-ups, a lost engine, many at once. Kamailio is the registrar."""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from agi_channel import NetworkChannel, ProcessChannel, run
from phones import apns_token, fcm_token
from ports import free_port
from servers import LIBRARY, PUSHWAKE, ROOT, Kamailio, Simulator, wait_until
from sip_phone import Phone
from sleeper import apns, fcm

USERS = [f"user{number}" for number in range(36)]
SCRIPT = ROOT / "asterisk-glue" / "pushwake.agi"


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    simulator = Simulator(tmp_path_factory.mktemp("provider"))
    simulator.start()
    yield simulator
    simulator.stop()


class Hook:
    """An engine under Kamailio that listens for FastAGI."""

    def __init__(self, directory, simulator, **settings):
        self.port = free_port()
        self.kamailio = Kamailio(directory, simulator, settings={
            "fastagi_listen": f"127.0.0.1:{self.port}", **settings})  # fmt: skip
        self.socket = self.kamailio.settings["engine_socket"]
        self.environment = {**os.environ, "PUSHWAKE": str(PUSHWAKE), "PUSHWAKE_SOCKET": self.socket,
                            "LD_LIBRARY_PATH": str(LIBRARY.parent)}  # fmt: skip
        self.kamailio.start().wait_engine()
        self.calls = (f"call-{number}@asterisk" for number in itertools.count())
        self.made = []

    def fast(self, path, *arguments):
        self.made.append(NetworkChannel(self.port, next(self.calls), path, *arguments))
        return self.made[-1]

    def script(self, *arguments):
        self.made.append(ProcessChannel([SCRIPT], self.environment, next(self.calls), *arguments))
        return self.made[-1]

    def wrapped(self, *arguments):
        """A script of somebody's own that runs ours, and waits for its end."""
        around = "import signal, subprocess, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); subprocess.call(sys.argv[1:])"
        self.made.append(ProcessChannel([sys.executable, "-c", around, SCRIPT], self.environment, next(self.calls), *arguments))
        return self.made[-1]

    def again(self, kind, channel, *arguments):
        """The dialplan of the same call asks once more."""
        made = (ProcessChannel([SCRIPT], self.environment, channel.call_id, *arguments) if kind == "AGI"
                else NetworkChannel(self.port, channel.call_id, *arguments))  # fmt: skip
        self.made.append(made)
        return made

    def channel(self, kind, *arguments):
        """The same command both ways."""
        return self.script(*arguments) if kind == "AGI" else self.fast(arguments[0], *arguments[1:])

    def shell(self, *arguments):
        return subprocess.run([PUSHWAKE, *arguments], env=self.environment, capture_output=True, text=True)

    def stop(self):
        for channel in self.made:
            channel.close()
        self.kamailio.stop()


class Sleeper:
    """A phone that has registered and gone to sleep."""

    def __init__(self, hook, user, parameters):
        self.hook, self.user = hook, user
        self.token = apns_token() if parameters is apns else fcm_token()
        self.parameters = parameters(self.token)
        self.address = ("127.0.0.1", hook.kamailio.port)
        with Phone(user, self.address) as phone:
            self.instance = phone.instance
            assert phone.register(self.parameters).status == 200

    def wake(self):
        with Phone(self.user, self.address) as phone:
            phone.instance = self.instance
            started = time.monotonic()
            assert phone.register(self.parameters).status == 200
            return started


@pytest.fixture(scope="module")
def hook(tmp_path_factory, provider):
    hook = Hook(tmp_path_factory.mktemp("hook"), provider)
    yield hook
    hook.stop()


@pytest.fixture(scope="module")
def all_asleep(hook):
    """The hook knows no contacts: who registered less than five seconds ago counts as awake."""
    made = [Sleeper(hook, user, fcm) for user in USERS]
    pairs = [(Sleeper(hook, user, fcm), Sleeper(hook, user, fcm)) for user in ("pair1", "pair2", "pair3", "pair4")]
    time.sleep(6.1)
    return iter(made), iter(pairs)


@pytest.fixture
def sleeper(all_asleep):
    return next(all_asleep[0])


@pytest.fixture
def pairs(all_asleep):
    """Two phones of one user."""
    return all_asleep[1]


BOTH = pytest.mark.parametrize("kind", ["AGI", "FastAGI"])


def events(provider, phone):
    return [push["body"]["message"]["data"]["event"] for push in provider.pushes(phone.token)]


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))


@BOTH
def test_a_phone_is_woken(hook, provider, sleeper, kind):
    channel = hook.channel(kind, "wake", sleeper.user, "10")
    run([channel], lambda: provider.pushes(sleeper.token))
    assert channel.status is None
    sleeper.wake()
    channel.finish()
    assert channel.status == "WOKEN"
    assert channel.variables["PUSHWAKE_CONTACTS"].startswith(f"PJSIP/{sleeper.user}/sip:{sleeper.user}@127.0.0.1:")
    assert "pn-" not in channel.variables["PUSHWAKE_CONTACTS"]
    assert 0 < int(channel.variables["PUSHWAKE_WOKEN_MS"]) < 5000
    assert "Ann" in str(provider.pushes(sleeper.token)[0])


def test_fastagi_takes_its_arguments_from_the_query(hook, provider, sleeper):
    channel = hook.fast(f"wake?aor={sleeper.user}&timeout=10")
    run([channel], lambda: provider.pushes(sleeper.token))
    sleeper.wake()
    assert channel.finish().status == "WOKEN"


@BOTH
def test_the_timeout_is_kept(hook, sleeper, kind):
    started = time.monotonic()
    channel = hook.channel(kind, "wake", sleeper.user, "1").finish()
    assert channel.status == "TIMEOUT" and channel.variables["PUSHWAKE_CONTACTS"] == ""
    assert 0.9 < time.monotonic() - started < 2


@BOTH
def test_a_phone_that_has_just_registered_is_awake(hook, provider, sleeper, kind):
    sleeper.wake()
    channel = hook.channel(kind, "wake", sleeper.user, "10").finish(2)
    assert channel.status == "AWAKE"
    assert channel.variables["PUSHWAKE_CONTACTS"] == f"PJSIP/{sleeper.user}"
    assert provider.pushes(sleeper.token) == []


@BOTH
def test_who_is_awake_rings_although_another_phone_sleeps(hook, provider, sleeper, kind):
    Sleeper(hook, sleeper.user, fcm)
    channel = hook.channel(kind, "wake", sleeper.user, "10").finish(2)
    assert channel.status == "AWAKE"
    provider.wait_push(sleeper.token)


@BOTH
def test_a_phone_that_sleeps_on_is_not_told_of_a_hang_up_when_another_woke(hook, provider, pairs, kind):
    first, second = next(pairs)
    channel = hook.channel(kind, "wake", first.user, "10")
    run([channel], lambda: provider.pushes(first.token) and provider.pushes(second.token))
    run([channel], lambda: False, 0.2)
    first.wake()
    channel.finish()
    assert channel.status == "WOKEN"
    if kind == "AGI":
        assert channel.process.wait(1) == 0
    time.sleep(0.3)
    assert len(provider.pushes(second.token)) == 1


@BOTH
def test_a_phone_that_stays_away_has_missed_the_call_when_the_dialplan_goes_on(hook, provider, sleeper, kind):
    assert hook.channel(kind, "wake", sleeper.user, "1").finish().status == "TIMEOUT"
    wait_until("it hears so", lambda: events(provider, sleeper) == ["call", "missed"], 2)
    # A timer counts whole milliseconds, and the trace from the middle of one.
    assert re.search(r" ago: timed out after (999|1\d{3}) ms", hook.shell("trace", sleeper.user).stdout)


@BOTH
def test_what_becomes_of_a_call_whose_phone_woke_is_not_known(hook, provider, pairs, kind):
    """It may be talking: it hears nothing more. The other one hears, once the time to wait is over, that it need not ring."""
    first, second = next(pairs)
    channel = hook.channel(kind, "wake", first.user, "3")
    run([channel], lambda: provider.pushes(first.token) and provider.pushes(second.token))
    first.wake()
    assert channel.finish().status == "WOKEN"
    shown = hook.shell("trace", first.user).stdout
    assert "ago: not watched" in shown and "registered, and the dialplan went on" in shown
    assert "the caller hears" not in shown  # a channel that waits takes no word for its caller
    wait_until("the other one hears so", lambda: events(provider, second) == ["call", "elsewhere"], 4)
    time.sleep(0.3)
    assert events(provider, first) == ["call"]
    assert re.search(r" ago: completed elsewhere after (299\d|3\d{3}) ms", hook.shell("trace", first.user).stdout)


@BOTH
def test_without_a_binding_it_goes_on_at_once(hook, kind):
    assert hook.channel(kind, "wake", "nobody").finish(2).status == "NOBINDING"
    assert hook.channel(kind, "bindings", "nobody").finish(2).status == "NOBINDING"
    assert hook.channel(kind, "send", "chat", "nobody", "Hello").finish(2).status == "NOBINDING"


@BOTH
def test_bindings_and_send(hook, provider, sleeper, kind):
    listed = hook.channel(kind, "bindings", sleeper.user).finish(2)
    assert listed.status == "BOUND"
    assert (listed.variables["PUSHWAKE_BINDINGS"], listed.variables["PUSHWAKE_PROVIDERS"]) == ("1", "fcm")
    sent = hook.channel(kind, "send", "chat", sleeper.user, "See you").finish(2)
    assert (sent.status, sent.variables["PUSHWAKE_SENT"]) == ("SENT", "1")
    assert "See you" in str(provider.wait_push(sleeper.token))


@BOTH
def test_what_no_phone_takes_is_not_sent_and_says_why(hook, kind):
    """A PushKit token alone: its app would have to show a call for a text."""
    user = f"calls-only-{kind.lower()}"
    Sleeper(hook, user, apns)
    channel = hook.channel(kind, "send", "chat", user, "Hello").finish(2)
    assert (channel.status, channel.variables["PUSHWAKE_SENT"]) == ("FAILED", "0")
    assert "a PushKit token may only get calls" in channel.verbose[0]


@BOTH
@pytest.mark.parametrize("words, remedy", [
    (["wake"], "write wake AOR [TIMEOUT [CALL-ID]]"), (["wake", "100", "soon"], "write 1 to 3600 seconds"),
    (["wake", "100", "-1"], "write 1 to 3600 seconds"),
    (["send", "shout", "100"], "write one of call, chat"), (["wkae", "100"], "write wake, send or bindings")])  # fmt: skip
def test_wrong_arguments_name_the_remedy(hook, kind, words, remedy):
    channel = hook.channel(kind, *words).finish(2)
    assert channel.status == "FAILED"
    assert remedy in channel.verbose[0]


@BOTH
def test_an_argument_may_begin_with_a_hyphen(hook, provider, sleeper, kind):
    """A caller may dial one; it is no option of the program."""
    for text in ("-1", "--help", "--socket=/nowhere", "--"):
        assert hook.channel(kind, "send", "chat", sleeper.user, text).finish(2).status == "SENT", text
    wait_until("all texts", lambda: len(provider.pushes(sleeper.token)) == 4)
    assert [push["body"]["message"]["data"]["text"] for push in provider.pushes(sleeper.token)] == [
        "-1", "--help", "--socket=/nowhere", "--"]  # fmt: skip
    for aor in ("--help", "--set=engine_socket=/nowhere"):
        assert hook.channel(kind, "bindings", aor).finish(2).status == "NOBINDING"


@pytest.mark.parametrize("options", [[], ["--"]])
def test_options_stand_before_the_command(hook, options):
    assert "USAGE: pushwake agi" in hook.shell("agi", "--help").stdout
    command = [PUSHWAKE, "agi", "--set", "engine_timeout=900", "--socket", hook.socket, *options]
    hook.made.append(ProcessChannel(command, hook.environment, next(hook.calls), "bindings", "nobody"))
    assert hook.made[-1].finish(2).status == "NOBINDING"


@pytest.mark.parametrize("how", ["SIGHUP", "SIGHUP of a script around it", "HANGUP", "connection closed"])
def test_a_hang_up_ends_the_wait_and_the_phone_hears_of_it(hook, provider, sleeper, how):
    channel = hook.wrapped("wake", sleeper.user, "30") if "around" in how else hook.channel(
        "AGI" if how == "SIGHUP" else "FastAGI", "wake", sleeper.user, "30")
    run([channel], lambda: provider.pushes(sleeper.token))
    wait_until("the push is taken", lambda: sleeper_taken(hook, sleeper))
    started = time.monotonic()
    if "SIGHUP" in how:
        channel.process.send_signal(signal.SIGHUP)
        channel.process.wait(1)
    elif how == "HANGUP":
        channel.hang_up()
        channel.finish(1)
    else:
        channel.close()
    cancel = wait_until("cancel push", lambda: provider.pushes(sleeper.token)[1:], 3)[0]
    assert time.monotonic() - started < 1.5
    assert "cancel" in str(cancel)


def sleeper_taken(hook, sleeper):
    """The engine has the provider's answer for this phone."""
    return "accepted" in hook.kamailio.log_text() and f"aor={sleeper.user}" in hook.kamailio.log_text()


def test_registered_from_the_shell_lets_the_call_go_on(hook, provider, sleeper):
    channel = hook.fast("wake", sleeper.user, "10")
    run([channel], lambda: provider.pushes(sleeper.token))
    done = hook.shell("registered", sleeper.user, f"sip:{sleeper.user}@192.0.2.7:5060")
    assert done.returncode == 0, done.stderr
    channel.finish(1)
    assert channel.status == "WOKEN"
    assert channel.variables["PUSHWAKE_CONTACTS"] == f"PJSIP/{sleeper.user}/sip:{sleeper.user}@192.0.2.7:5060"


def test_a_second_wake_of_a_call_whose_phone_came_does_not_hang(hook, provider, sleeper):
    channel = hook.script("wake", sleeper.user, "1").finish()
    assert channel.status == "TIMEOUT"
    assert hook.shell("registered", sleeper.user).returncode == 0
    again = ProcessChannel([SCRIPT], hook.environment, channel.call_id, "wake", sleeper.user, "30")
    hook.made.append(again)
    assert again.finish(2).status == "WOKEN"
    assert events(provider, sleeper) == ["call", "missed"]


@BOTH
def test_a_dialplan_that_wakes_the_same_user_again_pushes_again(hook, provider, sleeper, kind):
    channel = hook.channel(kind, "wake", sleeper.user, "10")
    run([channel], lambda: provider.pushes(sleeper.token))
    sleeper.wake()
    assert channel.finish(2).status == "WOKEN"
    time.sleep(6.1)  # it is asleep again
    again = hook.again(kind, channel, "wake", sleeper.user, "1")
    assert again.finish(3).status == "TIMEOUT"
    wait_until("it hears so", lambda: events(provider, sleeper) == ["call", "call", "missed"])
    third = hook.again(kind, channel, "wake", sleeper.user, "10")
    run([third], lambda: events(provider, sleeper)[3:] == ["call"])
    sleeper.wake()
    assert third.finish(2).status == "WOKEN"


@pytest.mark.alone
def test_a_hundred_waits_cost_a_connection_each_and_no_polling(hook, sleeper):
    engine = hook.kamailio.engine_pid()
    idle = len(os.listdir(f"/proc/{engine}/fd"))
    channels = [hook.fast("wake", sleeper.user, "30") for _ in range(100)]
    run(channels, lambda: len(os.listdir(f"/proc/{engine}/fd")) >= idle + 100 and False, 1.5)
    assert 100 <= len(os.listdir(f"/proc/{engine}/fd")) - idle <= 104
    before = cpu_ticks(engine)
    time.sleep(2)
    assert cpu_ticks(engine) - before <= 4, "2 % of a core while a hundred calls wait"
    assert [channel.status for channel in channels] == [None] * 100

    started = sleeper.wake()
    run(channels, lambda: all(channel.ended for channel in channels))
    assert {channel.status for channel in channels} == {"WOKEN"}
    assert max(channel.status_at for channel in channels) - started < 0.2
    wait_until("connections are closed", lambda: len(os.listdir(f"/proc/{engine}/fd")) <= idle + 2)


HOSTILE = {
    "nothing": b"",
    "an empty line": b"\n",
    "CRLF": b"\r\n\r\n",
    "zeros": b"\0" * 100_000,
    "no end of line": b"x" * 100_000,
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "not UTF-8": b"agi_request: agi://h/wake?aor=%\n\n\xff\xfe\n",
    "many lines": b"agi_arg_1: x\n" * 20_000,
    "many hang-ups": b"HANGUP\n" * 1000,
    "zeros as AoR": b"agi_request: agi://h/wake?aor=" + b"%00" * 2000 + b"\n\n200 result=1 ()\n",
    "long": b"agi_request: agi://h/bindings?aor=" + b"a" * 8000 + b"\n\n200 result=1 (" + b"(" * 8000 + b"\n",
}


@pytest.mark.parametrize("bytes_sent", HOSTILE.values(), ids=HOSTILE.keys())
def test_bytes_that_no_asterisk_sends_harm_nobody(hook, bytes_sent):
    engine = hook.kamailio.engine_pid()
    with socket.create_connection(("127.0.0.1", hook.port)) as connection:
        connection.settimeout(1)
        try:
            connection.sendall(bytes_sent)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except OSError:  # it has been closed already
            pass
    assert hook.fast("wake", "nobody").finish(2).status == "NOBINDING"
    assert hook.kamailio.engine_pid() == engine


@pytest.mark.alone
def test_the_dialplan_goes_on_within_20_ms_of_the_register(hook, provider, all_asleep):
    """The best of three: other processes want the cores, too."""
    taken = []
    for sleeper in itertools.islice(all_asleep[0], 3):
        channel = hook.fast("wake", sleeper.user, "10")
        run([channel], lambda: provider.pushes(sleeper.token))
        started = sleeper.wake()
        assert channel.finish().status == "WOKEN"
        taken.append(channel.status_at - started)
    print("REGISTER to the answer:", [f"{seconds * 1000:.1f} ms" for seconds in taken])
    assert len(taken) == 3 and min(taken) < 0.02


def test_only_allowed_networks_may_connect(tmp_path, provider):
    hook = Hook(tmp_path, provider, fastagi_allow="192.0.2.0/24,::1/128")
    try:
        assert hook.fast("wake", "100").finish(2).variables == {}
        hook.kamailio.wait_log("127.0.0.1 was refused; see fastagi_allow")
        for _ in range(20):
            assert hook.fast("wake", "100").finish(2).variables == {}
        wait_until("it is said three times", lambda: hook.kamailio.log_text().count("was refused; see fastagi_allow") == 3)
        assert hook.script("wake", "100").finish(2).status == "NOBINDING"
    finally:
        hook.stop()


def test_a_lost_engine(tmp_path, provider):
    """Last, and with an engine of its own: it comes to harm."""
    hook = Hook(tmp_path, provider)
    try:
        phone = Sleeper(hook, "100", fcm)
        time.sleep(6.1)
        waiting = [hook.script("wake", "100", "30") for _ in range(2)]
        run(waiting, lambda: provider.pushes(phone.token))
        run(waiting, lambda: False, 0.3)
        os.kill(hook.kamailio.engine_pid(), signal.SIGKILL)
        wait_until("the next engine pushes", lambda: len(provider.pushes(phone.token)) == 4)
        phone.wake()
        assert [channel.finish(2).status for channel in waiting] == ["WOKEN"] * 2
        time.sleep(6.1)
        waiting = hook.script("wake", "100", "30")
        run([waiting], lambda: len(provider.pushes(phone.token)) == 5)
        assert waiting.status is None
        hook.kamailio.stop()
        assert waiting.finish(8).status == "UNAVAILABLE"
        gone = hook.script("wake", "100").finish(2)
        assert gone.status == "UNAVAILABLE" and gone.verbose
    finally:
        hook.stop()
