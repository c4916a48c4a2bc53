# SPDX-License-Identifier: MIT
"""What the program says of itself."""

import re
import subprocess

import pytest

from phones import fcm_token
from peers.binding_lines import line
from peers.http_client import listen
from servers import PUSHWAKE, ROOT, stopped, wait_until


def run(*arguments):
    return subprocess.run([PUSHWAKE, *arguments], capture_output=True, text=True, timeout=30, check=False)


def test_commands_stand_under_what_they_are_for():
    text = run().stdout
    groups = re.findall(r"^([A-Z ]+) SUBCOMMANDS:$", text, re.M)
    assert groups == ["SEE WHAT HAPPENS", "PUSH AND CALL", "SET UP", "RUN", "TEST"], text
    assert text.index("  doctor ") < text.index("  engine ")


def test_the_help_of_bindings_names_its_conditions():
    text = run("bindings", "--help").stdout
    for option in ("--user", "--provider", "--verdict", "--age"):
        assert option in text


def test_a_user_whose_name_begins_like_an_option_can_be_asked_for(make_engine):
    engine = make_engine()
    for command in ("trace", "doctor", "bindings"):
        done = run(command, "--settings", engine.settings, "--", "-h@x")
        text = done.stdout + done.stderr
        assert done.returncode == 1 and "OVERVIEW" not in text and "Unknown option" not in text, done


# ---- what a shell offers

SHELL = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_pushwake "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    """What bash offers for the last word."""
    done = subprocess.run(["bash", "-c", SHELL, "bash", ROOT / ".build/stage/completions/bash", PUSHWAKE, *words],
                          capture_output=True, text=True, timeout=30, check=False)
    assert not done.stderr, done.stderr
    return [word for word in done.stdout.split("\n") if word]


VALUES = {
    ("send", "mis"): ["missed"], ("bindings", "list", "--provider", "ap"): ["apns"], ("payload", "m"): ["mizutech"],
    ("stats", "--set", "wake_t"): ["wake_timeout="], ("canary", "--transport", ""): ["udp", "tcp"],
    ("check", "/etc/hostn"): ["/etc/hostname"],
}


@pytest.mark.parametrize("words", VALUES, ids=" ".join)
def test_a_shell_offers_values(words):
    assert offered(*words) == VALUES[words]


@pytest.fixture(params=["file", "nodes"])
def store(request, tmp_path):
    """Where bindings are: of this engine alone, or shared."""
    if request.param == "file":
        return {}
    return {"store": request.getfixturevalue("make_valkey")("--appendfsync", "no").url, "node_uri": "sip:127.0.0.1:5060"}


def test_a_shell_offers_users_whom_the_engine_knows(make_engine, simulator, tmp_path, store):
    engine, client = listen(make_engine, tmp_path, fcm_key=simulator.settings()["fcm_key"], **store)
    socket = re.search(r"engine_socket = (\S+)", engine.settings.read_text())[1]
    for user in ("alfred", "alice", "alice2@example.com", "bob", "al$(touch%20x)", "al;ls"):
        client.curl("/v1/bindings", "-d", f"aor={user}&provider=fcm&app=com.example.phone&token={fcm_token()}")
    others = subprocess.run([PUSHWAKE, "bindings", "import", "-", "--socket", socket], input="\n".join(
        line(number) for number in range(500)), capture_output=True, text=True, timeout=60, check=False)
    assert others.returncode == 0, others.stderr
    wait_until("they are stored", lambda: "bob" in run("bindings", "--socket", socket).stdout)

    # On a busy machine an engine may take longer than a shell waits.
    def offers(*words, users=("alfred", "alice", "alice2@example.com")):
        wait_until(words, lambda: offered(*words) == list(users), step=0.2)

    for command in (["doctor"], ["trace"], ["bindings", "show"], ["send", "call"], ["try"]):
        offers(*command, "--socket", socket, "al")
    offers("doctor", "--settings", engine.settings, "alice", users=("alice", "alice2@example.com"))
    offers("doctor", "--socket", socket, "user42", users=["user42", *(f"user42{digit}" for digit in range(10))])
    assert offered("doctor", "--socket", socket, "x") == []
    wait_until("any user", lambda: len(offered("doctor", "--socket", socket, "")) > 4)
    assert offered("doctor", "--socket", tmp_path / "nobody.sock", "al") == []
    with stopped(engine.process.pid):
        assert offered("doctor", "--socket", socket, "al") == []
