# SPDX-License-Identifier: MIT
"""In a PBX process nothing of the engine's side runs: no function of OpenSSL, nghttp2, SQLite or jansson is called there, so that it
does not matter who loads OpenSSL first."""

import os
import re
import subprocess

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import CALLS, LIBRARY, PUSHWAKE, wait_until

FORBIDDEN = re.compile(r"lib(ssl|crypto|nghttp2|sqlite3|jansson)\.so")
GUARD = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void refuse(const char *name)
{
    write(2, "forbidden in a PBX process: ", 28);
    write(2, name, strlen(name));
    write(2, "\\n", 1);
    abort();
}
#define REFUSE(name) void name(void) { refuse(#name); }
"""


def symbols(path, kind):
    listed = subprocess.run(["nm", "-D", f"--{kind}-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def guard(directory):
    """A library that ends its process when something is called that only the engine may call."""
    linked = re.findall(r"=> (\S+)", subprocess.run(["ldd", LIBRARY], capture_output=True, text=True, check=True).stdout)
    defined = set().union(*(symbols(path, "defined") for path in linked if FORBIDDEN.search(path)))
    names = sorted(symbols(LIBRARY, "undefined") & defined)
    assert len(names) > 100
    source = directory / "guard.c"
    source.write_text(GUARD + "".join(f"REFUSE({name})\n" for name in names))
    built = directory / "guard.so"
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-fno-builtin", "-o", built, source], check=True)
    return built


def test_the_guard_ends_a_process_that_does_what_the_engine_does(tmp_path):
    done = subprocess.run([PUSHWAKE, "engine", "--set", "store=memory", "--socket", tmp_path / "e.sock"],
                          env={**os.environ, "LD_PRELOAD": str(guard(tmp_path))}, capture_output=True, text=True, timeout=10)
    assert done.returncode != 0 and "forbidden in a PBX process" in done.stderr


def without_tls(text):
    return "\n".join(line for line in text.splitlines() if "tls" not in line)


@pytest.fixture
def guarded(tmp_path, make_server):
    engine = tmp_path / "engine"
    engine.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{PUSHWAKE}" "$@"\n')
    engine.chmod(0o755)
    return make_server(
        config=without_tls(CALLS.read_text()), settings={"engine_path": engine, "silent_after": 300},
        program=["env", f"LD_PRELOAD={guard(tmp_path)}", "kamailio"])


def test_nothing_of_the_engine_runs_in_kamailio(guarded, wire, simulator):
    for push in (rfc8599_fcm(), rfc8599_apns()):
        phone = wire.phone(guarded, f"guarded-{push.sip_pns}", "udp", push)
        phone.register()
        phone.suspend()
        call = wire.call(guarded, phone.user)
        simulator.wait_event(push.token, "call")
        wire.again(phone).register()
        assert call.wait_status(200)
    for command in ("stats", "list", "show x", "send event call x", "remove x", "reload", "trace"):
        guarded.rpc(f"pushwake.{command.split()[0]}", *command.split()[1:])
    assert "forbidden" not in guarded.log_text()
    assert guarded.process.poll() is None


def tls_after(text):
    module = 'loadmodule "tls.so"\n'
    assert module in text
    return text.replace(module, "").replace('loadmodule "@PUSHWAKE@"\n', 'loadmodule "@PUSHWAKE@"\n' + module)


@pytest.mark.parametrize("order", ["tls first", "pushwake first"])
def test_a_phone_on_tls_rings_whichever_module_is_loaded_first(make_server, wire, simulator, order):
    text = CALLS.read_text()
    server = make_server(config=text if order == "tls first" else tls_after(text), settings={"silent_after": 300})
    phone = wire.phone(server, "on-tls", "tls", rfc8599_fcm())
    phone.register()
    phone.suspend()
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    wire.again(phone).register()
    assert call.wait_status(200)


def test_the_engine_runs_from_the_library_that_kamailio_has_loaded(make_server):
    server = make_server()
    module = wait_until("an engine", server.engine_pid)
    loaded = {line.split()[-1] for line in open(f"/proc/{module}/maps") if "libpushwake" in line}
    assert loaded == {line.split()[-1] for line in open(f"/proc/{server.process.pid}/maps") if "libpushwake" in line} != set()
