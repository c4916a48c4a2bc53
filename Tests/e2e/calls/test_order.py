# SPDX-License-Identifier: MIT
"""Several processes of Kamailio work for one call: what one has been told to do may be done after what another was told later,
and an answer may be there before the process that has sent the request has written down that it has."""

import os
import signal
import subprocess
import time

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import CALLS, KAMAILIO_ROOT

pytestmark = pytest.mark.skipif(KAMAILIO_ROOT is not None, reason="the library that slows it down is this system's")

SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
    ssize_t (*send)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
    const char *begin = getenv("SLOW_AFTER");
    ssize_t sent = send(fd, buf, len, flags, to, to_len);
    int error = errno;
    if (begin != NULL && len > strlen(begin) && memcmp(buf, begin, strlen(begin)) == 0)
        usleep(60000);
    errno = error;
    return sent;
}
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Makes the program of a Kamailio that gets no processor after it has sent a datagram that begins so."""
    directory = tmp_path_factory.mktemp("slow")
    (directory / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "slow.so", directory / "slow.c"], check=True)
    return lambda begin: ["env", f"LD_PRELOAD={directory / 'slow.so'}", f"SLOW_AFTER={begin}", "kamailio"]


@pytest.fixture
def sleeping(wire):
    def make(server, user, push=None):
        phone = wire.phone(server, user, "udp", push or rfc8599_fcm())
        phone.register()
        return phone.sleep()

    return make


@pytest.mark.parametrize("is_slow", [False, True])
def test_an_answer_that_is_there_at_once_counts(make_server, wire, simulator, sleeping, slow, is_slow):
    options = {"program": slow("INVITE ")} if is_slow else {}
    server = make_server(settings={"decline_waits": 1}, wake_timeout=8, **options)
    phones = [sleeping(server, "quick") for _ in range(2)]
    call = wire.call(server, "quick")
    for phone in phones:
        simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phones[0])
    woken.answers["INVITE"] = (180, 486)
    woken.register()
    rung = woken.wait_request("INVITE")
    assert call.wait_final().status == 486
    assert call.final.at - rung.at < 3, "the other is waited for as long as decline_waits says"
    told = server.rpc("pushwake.trace", "quick")
    assert "rings (180)" in told and "declines (486)" in told
    server.wait_none_held()


@pytest.mark.parametrize("transports", [("udp", "tcp", "tls"), ("tls", "tcp", "udp")])
def test_a_phone_that_registers_over_three_connections_at_once_rings_on_one(make_server, wire, simulator, sleeping, transports):
    server = make_server(settings={"silent_after": 1500}, wake_timeout=8)
    for number in range(8):
        phone = sleeping(server, f"moves-{number}")
        call = wire.call(server, phone.user)
        simulator.wait_event(phone.push.token, "call")
        ways = [wire.again(phone, transport) for transport in transports]
        for way in ways:
            way.answers["INVITE"] = (180,)
        for way in ways:
            way.send_register()
        call.wait_status(180)

        def open_invites(ways=ways):
            cancelled = {cancel.headers("Via")[0] for way in ways for cancel in way.requests("CANCEL")}
            return [(way, invite) for way in ways for invite in way.requests("INVITE")
                    if invite.headers("Via")[0] not in cancelled]

        left = settled(open_invites)
        assert len(left) == 1
        left[0][0].answer(left[0][1], 200)
        call.wait_status(200)
        call.hang_up()
        left[0][0].wait_request("BYE")
    server.wait_none_held()


def settled(count, seconds=0.3):
    """What it gives once it has given the same for so long."""
    last, since = count(), time.monotonic()
    while time.monotonic() - since < seconds:
        now = count()
        if len(now) != len(last):
            last, since = now, time.monotonic()
        time.sleep(0.01)
    return last


def test_a_give_up_that_waited_for_a_slow_route_ends_no_wait_that_began_after_it(make_server, make_provider, wire, sleeping):
    text = CALLS.read_text().replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    text = text.replace('"ASLEEP $rU\\n");', '"ASLEEP $rU\\n"); if ($rU == "slow") { usleep("2500000"); }')
    server = make_server(make_provider({"token": "aa400*", "status": 400, "reason": "BadDeviceToken"}), config=text, wake_timeout=4)
    sleeping(server, "slow")
    dead = rfc8599_apns()
    dead.token = "aa400" + dead.token[5:]
    sleeping(server, "waited-for", dead)
    phone = wire.phone(server, "waited-for", "tcp", rfc8599_fcm())
    phone.register()
    delaying = wire.call(server, "slow")
    server.wait_log("ASLEEP slow", seconds=8)
    phone.suspend()
    call = wire.call(server, "waited-for")
    server.wait_log("RESULT aor=waited-for", "outcome=accepted")
    phone.endpoint.close()
    delaying.wait_final(8)
    assert 480 not in settled(lambda: call.statuses)
    wire.again(phone).register()
    assert call.wait_final().status == 200


def test_a_give_up_of_an_engine_that_has_died_ends_nothing(make_server, make_provider, wire, sleeping):
    text = CALLS.read_text().replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    text = text.replace('"ASLEEP $rU\\n");', '"ASLEEP $rU\\n"); if ($rU == "slow") { usleep("5000000"); }')
    server = make_server(make_provider({"token": "aa400*", "status": 400, "reason": "BadDeviceToken"}), config=text, wake_timeout=10)
    sleeping(server, "slow")
    delaying = wire.call(server, "slow")
    dead = rfc8599_apns()
    dead.token = "aa400" + dead.token[5:]
    sleeping(server, "waited-for", dead)
    phone = wire.phone(server, "waited-for", "tcp", rfc8599_fcm())
    phone.register()
    server.wait_log("ASLEEP slow", seconds=12)
    phone.suspend()
    call = wire.call(server, "waited-for")
    server.wait_log("RESULT aor=waited-for", "outcome=accepted")
    os.kill(server.engine_pid(), signal.SIGKILL)
    server.wait_log("go on with the new engine")
    phone.endpoint.close()
    delaying.wait_final(8)
    assert 480 not in settled(lambda: call.statuses)
    wire.again(phone).register()
    assert call.wait_final().status == 200


def test_who_says_his_first_word_behind_anothers_answer_is_cancelled(make_server, wire, simulator, sleeping, slow):
    """tm sends the 200 first, and decides after that who is to be cancelled."""
    server = make_server(wake_timeout=8, program=slow("SIP/2.0 200"))
    phones = [sleeping(server, "both") for _ in range(2)]
    call = wire.call(server, "both")
    for phone in phones:
        simulator.wait_event(phone.push.token, "call")
    invites = []
    woken = [wire.again(phone) for phone in phones]
    for phone in woken:
        phone.answers["INVITE"] = ()
        phone.register()
        invites.append(phone.wait_request("INVITE"))
    woken[0].answer(invites[0], 200)
    call.wait_status(200)
    woken[1].answer(invites[1], 180)
    woken[1].wait_request("CANCEL")
