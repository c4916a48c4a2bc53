# SPDX-License-Identifier: MIT
"""An engine or a library of a later release says what the module does not know."""

import subprocess

import pytest

from peers.faint_engine import FaintEngine
from phones import rfc8599_fcm
from servers import CALLS, KAMAILIO_ROOT, ROOT

# What a verb has at its end in the library of a later release, this one does not know.
LATER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "pushwake.h"
#define MORE 48

int pushwake_register_run(pushwake_register_result *out, pushwake_client *client, pushwake_register_request *request)
{
    static char verbs[256 * (sizeof(pushwake_verb) + MORE)];
    int (*ask)(pushwake_register_result *, pushwake_client *, pushwake_register_request *) =
        dlsym(dlopen("libpushwake.so.1", RTLD_NOW | RTLD_NOLOAD), "pushwake_register_run");
    int status = ask(out, client, request);
    size_t size = sizeof(pushwake_verb) + MORE;
    if (status < 0 || out->verb_count > 256)
        return status;
    memset(verbs, 0xFF, sizeof(verbs));
    for (size_t i = 0; i < out->verb_count; i++)
        memcpy(memcpy(verbs + i * size, &out->verbs[i], sizeof(pushwake_verb)), &size, sizeof(size));
    out->verbs = (const pushwake_verb *)verbs;
    return status;
}
"""


@pytest.fixture
def server(make_kamailio, tmp_path):
    later = FaintEngine(tmp_path / "engine.sock", action=7)
    yield make_kamailio(settings={"engine_mode": "external", "engine_socket": str(later.path)}).start()
    later.stop()


def test_an_action_that_nobody_knows_is_none_and_is_said_once(server, wire):
    phone = wire.phone(server, "later", "udp", rfc8599_fcm())
    phone.register()
    for _ in range(3):
        call = wire.call(server, phone.user)
        call.wait_status(200)
        call.hang_up()
    said = [line for line in server.log_text().splitlines() if "the engine is of a later release (action 7)" in line]
    workers = {line.split("(")[1].split(")")[0] for line in said}
    assert 1 <= len(said) == len(workers) and "pushwake_lookup goes on without push" in said[0]
    assert server.held() == 0


@pytest.mark.skipif(KAMAILIO_ROOT is not None, reason="the library is put before that of this system")
def test_verbs_of_a_later_library_are_longer(make_kamailio, wire, simulator, tmp_path):
    (tmp_path / "later.c").write_text(LATER)
    subprocess.run(["cc", "-shared", "-fPIC", "-I", ROOT / "include", "-o", tmp_path / "later.so", tmp_path / "later.c"], check=True)
    server = make_kamailio(config=CALLS.read_text(), wake_timeout=8, program=["env", f"LD_PRELOAD={tmp_path / 'later.so'}", "kamailio"])
    server.start().wait_engine()
    phone = wire.phone(server, "longer", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    # Two verbs and more in one answer: each request that waits is rung.
    calls = [wire.call(server, phone.user) for _ in range(3)]
    simulator.wait_push(phone.push.token)
    phone = wire.again(phone)
    phone.register()
    for number in range(1, 4):
        phone.wait_request("INVITE", count=number)
    for call in calls:
        call.wait_status(180)
    assert server.process.poll() is None
