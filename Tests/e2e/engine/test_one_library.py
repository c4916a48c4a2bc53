# SPDX-License-Identifier: MIT
"""The engine's code is in the library alone: what is made of it runs from there, all else needs no library."""

import re
import subprocess

import pytest

from servers import LIBRARY, PUSHWAKE

# Bytes that library and program may have together.
INSTALLED = 28_000_000


def run(*arguments, program=PUSHWAKE, **options):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def uses_of_the_engine(tmp_path):
    (tmp_path / "pushwake.conf").write_text(f"engine_socket = {tmp_path}/engine.sock\nstore_path = {tmp_path}/b.db\n")
    (tmp_path / "invite").write_text("INVITE sip:a@example.com SIP/2.0\r\nCall-ID: 1\r\n\r\n")
    settings = ["--settings", tmp_path / "pushwake.conf"]
    return {
        "engine": ["engine", *settings], "check": ["check", tmp_path / "pushwake.conf"], "load": ["load", "--dir", tmp_path],
        "explain": ["explain", "--aor", "a", "--request", tmp_path / "invite", *settings],
    }  # fmt: skip


def test_the_program_has_no_engine_of_its_own():
    program = PUSHWAKE.read_bytes()
    assert b"PushWakeEngine" in LIBRARY.read_bytes()
    assert b"PushWakeEngine" not in program and b"PushWakeStore" not in program
    needed = subprocess.run(["readelf", "-d", PUSHWAKE], capture_output=True, text=True, check=True).stdout
    assert "libsqlite3" not in needed and "libpushwake" not in needed


def test_library_and_program_are_small():
    assert len(PUSHWAKE.read_bytes()) + len(LIBRARY.read_bytes()) < INSTALLED


@pytest.mark.parametrize("use", ["engine", "check", "explain", "load"])
def test_without_a_library_it_says_what_to_install(tmp_path, use):
    done = run(*uses_of_the_engine(tmp_path)[use], "--library", "/nonexistent/libpushwake.so.1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot load /nonexistent/libpushwake.so.1" in done.stderr and "install libpushwake" in done.stderr


STRANGERS = {
    "no tools": ("", "has no engine; install libpushwake "),
    "another interface": ("int pushwake_abi_version(void) { return 2; }", "has version 2 of the interface"),
    "other options": ("int pushwake_abi_version(void) { return 1; }", "install both of one release"),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_library_of_another_release_is_refused(tmp_path, stranger):
    code, message = STRANGERS[stranger]
    others = ["pushwake_settings_set", "pushwake_engine_run", "pushwake_settings_file", "pushwake_settings_error", "pushwake_tool_run"]
    if code:
        code += "int pushwake_settings_new(void **out) { *out = out; return 0; }"
        code += "".join(f"int {name}(void) {{ return -1; }}" for name in others)
    (tmp_path / "library.c").write_text(code or "int nothing;")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "library.so", tmp_path / "library.c"], check=True)
    done = run(*uses_of_the_engine(tmp_path)["check"], "--library", tmp_path / "library.so")
    assert (done.returncode, done.stdout) == (1, "") and message in done.stderr


def test_all_else_needs_no_library(tmp_path):
    """A copy of the program, beside which there is none; what is installed in the system is not asked for."""
    alone = tmp_path / "pushwake"
    alone.write_bytes(PUSHWAKE.read_bytes())
    alone.chmod(0o755)
    environment = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")}
    options = {"program": alone, "env": environment, "cwd": tmp_path}
    assert "| `apns_key` |" in run("settings", **options).stdout
    register = "REGISTER sip:example.com SIP/2.0\r\nContact: <sip:a@192.0.2.1;pn-provider=fcm;pn-param=p;pn-prid=t>\r\n\r\n"
    assert '"bindings"' in run("parse", "-", input=register, **options).stdout
    said = run("agi", "--socket", tmp_path / "none.sock", "wake", "a", input="agi_uniqueid: 1\n\n200 result=1 (x)\n" + "200 result=1\n" * 5,
               **options)  # fmt: skip
    assert said.returncode == 0 and 'SET VARIABLE PUSHWAKE_STATUS "UNAVAILABLE"' in said.stdout, said
    loaded = "".join(path.read_text(errors="replace") for path in tmp_path.glob("loaded.*"))
    assert "libc.so.6" in loaded and not re.search("libpushwake", loaded)


def test_a_report_that_cannot_be_written_is_a_failure(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PUSHWAKE, *map(str, uses_of_the_engine(tmp_path)["check"])], stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False)  # fmt: skip
    assert done.returncode == 1 and "cannot write: No space left on device" in done.stderr
