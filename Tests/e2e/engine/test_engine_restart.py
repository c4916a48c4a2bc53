# SPDX-License-Identifier: MIT
"""The engine dies, or stands still, while calls are held: none is lost, none is pushed twice."""

import contextlib
import os
import signal
import time

import pytest

from peers.faint_engine import FaintEngine
from phones import mpush_android, rfc8599_apns, rfc8599_fcm
from servers import PUSHWAKE, stopped, wait_until


@pytest.fixture(scope="module")
def provider(make_provider):
    """Answers pushes to tokens that begin with `aa` after a second and a half."""
    return make_provider({"token": "aa*", "delay_ms": 1500, "status": 200})


@pytest.fixture(scope="module")
def server(make_server, provider):
    return make_server(provider, wake_timeout=6, settings={"engine_timeout": 300})


def end(server, waits=True):
    """Ends the engine with kill -9; waits for another one unless told not to."""
    first = server.engine_pid()
    os.kill(first, signal.SIGKILL)
    if waits:
        wait_until("a new engine", lambda: server.engine_pid() not in (None, first), 8)
        server.wait_engine()


@contextlib.contextmanager
def without_engine(server):
    """The engine stands still; afterwards every worker asks it again, which takes a second."""
    with stopped(server.engine_pid()):
        yield
    server.wait_engine()
    time.sleep(1.1)


@pytest.fixture
def called(server, wire, provider):
    """A phone that sleeps and is called."""
    def make(user, push=None, transport="udp"):
        phone = wire.phone(server, user, transport, push or rfc8599_fcm())
        phone.register()
        phone.sleep()
        return wire.call(server, user), phone

    return make


@pytest.mark.alone
def test_without_an_engine_a_register_still_releases_the_call(server, wire, provider, called):
    call, phone = called("orphan")
    call.wait_status(110)
    end(server, waits=False)
    woken = wire.again(phone)
    registered = woken.register()
    assert woken.wait_request("INVITE").at - registered.at < 0.3
    call.wait_status(200)
    server.wait_engine()


def test_a_new_engine_goes_on_with_what_was_held(server, wire, provider, called):
    call, phone = called("survivor")
    call.wait_status(110)
    end(server)
    server.wait_log("held requests go on with the new engine")
    assert call.final is None
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)
    time.sleep(0.2)
    assert provider.events(phone.push.token) == ["call"], "pushed once more although a provider had taken it"
    server.wait_none_held()


def test_a_push_that_had_no_answer_goes_out_again(server, wire, provider, called):
    push = rfc8599_apns()
    push.token = "aa" + push.token[2:]
    call, phone = called("unanswered", push)
    provider.wait_event(push.token, "call")
    end(server)
    provider.wait_event(push.token, "call", after=1)
    call.wait_status(110)
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)


def test_a_store_in_memory_forgets_phones_and_no_call(make_server, provider, wire):
    server = make_server(provider, wake_timeout=6, settings={"store": "memory"})
    phone = wire.phone(server, "forgotten", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, phone.user)
    call.wait_status(110)
    end(server)
    server.wait_log("held requests go on with the new engine")
    assert call.final is None
    wire.again(phone).register()
    call.wait_status(200)
    server.wait_none_held()


def restart(server):
    """Ends the engine as an upgrade does; waits until it is gone, and for the next one's socket."""
    first = server.engine_pid()
    socket = server.directory / "engine.sock"
    os.kill(first, signal.SIGTERM)
    wait_until("the engine is gone", lambda: not socket.exists(), 8, 0.002)
    wait_until("a new engine", socket.exists, 8, 0.002)


@pytest.fixture(scope="module")
def slow_provider(make_provider):
    """Takes longer than an engine that ends waits for answers."""
    return make_provider({"token": "aa*", "delay_ms": 4000, "status": 200})


@pytest.fixture(scope="module")
def slow(make_server, slow_provider):
    return make_server(slow_provider, wake_timeout=10)


@pytest.mark.alone
@pytest.mark.parametrize("is_registered", [True, False])
def test_an_engine_that_is_restarted_loses_no_call_whose_push_has_no_answer(slow, slow_provider, wire, is_registered):
    push = rfc8599_apns()
    push.token = "aa" + push.token[2:]
    phone = wire.phone(slow, f"upgraded-{is_registered}".lower(), "udp", push)
    phone.register()
    if not is_registered:
        phone.register(0)
    phone.sleep()
    call = wire.call(slow, phone.user)
    slow_provider.wait_event(push.token, "call")
    restart(slow)
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)
    assert len(woken.requests("INVITE")) == 1


def test_what_rings_goes_on_ringing(server, wire, provider, called):
    call, phone = called("rings")
    call.wait_status(110)
    woken = wire.again(phone)
    woken.answers["INVITE"] = (180,)
    woken.register()
    invite = woken.wait_request("INVITE")
    call.wait_status(180)
    end(server)
    woken.register()
    time.sleep(0.3)
    assert len(woken.requests("INVITE")) == 1
    woken.answer(invite, 486)
    assert call.wait_final().status == 486


@pytest.fixture
def bereft(make_engine, make_kamailio, tmp_path, simulator):
    """A Kamailio whose engine is gone once a test says so."""
    socket = tmp_path / "engine.sock"
    engine = make_engine(engine_socket=socket, wake_timeout=10, **simulator.settings())
    server = make_kamailio(wake_timeout=10, settings={
        "engine_mode": "external", "engine_socket": str(socket)}).start().wait_engine()

    def ringing(wire, user):
        """A phone that was woken and rings, and the INVITE that it has; no engine is there any more."""
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        call = wire.call(server, user)
        simulator.wait_event(phone.push.token, "call")
        woken = wire.again(phone)
        woken.answers["INVITE"] = (180,)
        woken.register()
        invite = woken.wait_request("INVITE")
        call.wait_status(180)
        engine.stop()
        return call, woken, invite

    return ringing


@pytest.mark.parametrize("status", [180, 482])
def test_without_an_engine_a_phone_that_rings_and_registers_elsewhere_keeps_the_call(bereft, wire, status):
    """An app with two sockets that has the call already; some ring twice, others refuse the copy (RFC 3261, 8.2.2.2)."""
    call, phone, invite = bereft(wire, "has-moved")
    elsewhere = wire.again(phone, call_id=phone.call_id)
    elsewhere.cseq = phone.cseq
    elsewhere.answers["INVITE"] = (status,)
    elsewhere.register()
    elsewhere.wait_request("INVITE")
    elsewhere.register()
    phone.answer(invite, 200)
    call.wait_status(200)
    assert phone.requests("CANCEL") == [] and len(elsewhere.requests("INVITE")) == 1


def test_without_an_engine_a_phone_that_starts_anew_while_it_rings_gets_the_call(bereft, wire):
    call, phone, _ = bereft(wire, "starts-anew")
    phone.sleep()
    wire.again(phone).register()
    call.wait_status(200)


def test_nobody_wakes_and_the_new_engine_ends_the_call(server, called, provider):
    call, phone = called("stays-away")
    call.wait_status(110)
    end(server)
    assert call.wait_final(7).status == 480
    assert 5.8 < call.final.at - call.sent_at < 6.5
    provider.wait_event(phone.push.token, "missed")


@pytest.mark.alone
def test_a_cancel_while_no_engine_is_there(server, wire, called):
    call, phone = called("hung-up")
    call.wait_status(110)
    end(server, waits=False)
    at = call.cancel()
    assert call.wait_final().status == 487 and call.final.at - at < 0.3
    server.wait_engine()
    woken = wire.again(phone)
    woken.register()
    time.sleep(0.2)
    assert woken.requests("INVITE") == []
    server.wait_none_held()


def test_a_stopped_engine_delays_nobody_who_registers(server, wire, called):
    call, phone = called("stopped")
    call.wait_status(110)
    with without_engine(server):
        woken = wire.again(phone)
        woken.register()
        woken.wait_request("INVITE")
        call.wait_status(200)
    assert len(woken.requests("INVITE")) == 1
    server.wait_none_held()


def test_a_stopped_engine_that_goes_on_rings_nobody_twice(server, wire, called):
    call, phone = called("goes-on")
    call.wait_status(110)
    with without_engine(server):
        woken = wire.again(phone)
        woken.answers["INVITE"] = (180,)
        woken.register()
        invite = woken.wait_request("INVITE")
        call.wait_status(180)
    woken.register()
    time.sleep(0.3)
    assert len(woken.requests("INVITE")) == 1
    woken.answer(invite, 200)
    call.wait_status(200)


def test_eight_calls_and_three_engines(make_server, wire, provider):
    server = make_server(provider, wake_timeout=8)
    phones, calls = [], []
    caller = wire.caller(server)
    for number in range(8):
        phone = wire.phone(server, f"many-{number}", "udp", rfc8599_fcm())
        phone.register()
        phones.append(phone)
        calls.append(caller.call(phone.user))
    for call in calls:
        call.wait_status(110)
    for _ in range(2):
        end(server)
    for phone in phones:
        phone.register()
    for call in calls:
        assert call.wait_final().status == 200
    assert [provider.events(phone.push.token) for phone in phones] == [["call"]] * 8


def test_a_new_engine_that_is_slow_hears_of_all_that_is_held(make_engine, make_kamailio, tmp_path, wire, simulator):
    socket = tmp_path / "engine.sock"
    engine = make_engine(engine_socket=socket, wake_timeout=30, **simulator.settings())
    server = make_kamailio(wake_timeout=30, settings={
        "engine_mode": "external", "engine_socket": str(socket), "engine_timeout": 500}).start().wait_engine()
    for user in ("slow-one", "slow-two", "slow-three"):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        wire.call(server, user).wait_status(100)
    wait_until("all are held", lambda: server.held() == 3)
    engine.stop()
    faint = FaintEngine(socket, silences=2)
    try:
        wait_until("it has heard of all", lambda: len(faint.asked) >= 5)
        server.wait_log("3 held requests go on with the new engine")
    finally:
        faint.stop()
    assert len(set(faint.asked)) == 3 and len(faint.asked) == 5


@pytest.mark.parametrize("settings", [{}, {"remove_at_nopn": 1}])
def test_a_phone_that_registers_while_there_is_no_engine_is_pushed_afterwards(make_kamailio, tmp_path, wire, simulator, settings):
    program = tmp_path / "pushwake"
    program.symlink_to(PUSHWAKE)
    server = make_kamailio(wake_timeout=6, settings={"engine_path": str(program), "engine_timeout": 300, **settings}).start().wait_engine()
    known = wire.phone(server, "known", "udp", mpush_android())
    known.register()
    program.unlink()
    first = server.engine_pid()
    os.kill(first, signal.SIGKILL)
    wait_until("it is gone", lambda: server.engine_pid() is None)
    phone = wire.phone(server, "newcomer", "udp", rfc8599_fcm())
    assert phone.register().headers("Feature-Caps") == []
    known.register()
    plain = wire.phone(server, "plain")
    plain.register()
    program.symlink_to(PUSHWAKE)
    wait_until("a new engine", lambda: server.engine_pid() is not None, 15)
    server.wait_engine()
    wait_until("it is bound", lambda: phone.user in (server.rpc("pushwake.list", phone.user) or ""))
    for one in (phone, known):
        one.sleep()
        wire.call(server, one.user)
        simulator.wait_event(one.push.token, "call")
    assert "plain" not in (server.rpc("pushwake.list", "plain") or "")
