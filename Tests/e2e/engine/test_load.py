# SPDX-License-Identifier: MIT
"""Much to do: a hundred thousand pushes that wait, who goes first, and what is kept back."""

import json
import subprocess
import uuid

from phones import flexisip, rfc8599_fcm
from servers import PUSHWAKE, wait_until

LOAD = ["load_level", "load_queue_percent", "load_lag_ms", "load_cpu_percent"]


def test_a_jam_of_100_000_pushes_is_small_and_its_memory_comes_back(simulator):
    """`run` waits until every push has ended by its deadline."""
    done = subprocess.run([PUSHWAKE, "load", "--backlog", "--dir", simulator.directory / "files", "--count", "100000", "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    weighed = json.loads(done.stdout)
    assert weighed["count"] == 100_000
    assert weighed["bytes_per_push"] == (weighed["during_bytes"] - weighed["before_bytes"]) // 100_000
    # Less than a binding and a call's texts would be nothing that was kept.
    assert 300 < weighed["bytes_per_push"] <= 4096
    grown = weighed["during_bytes"] - weighed["before_bytes"]
    assert weighed["after_bytes"] - weighed["before_bytes"] < grown / 10, weighed


def send(engine, event, token):
    return subprocess.Popen(
        [PUSHWAKE, "send", event, "--platform", "apns", "--package", "com.example.phone", "--token", token,
         "--timeout", "60", "--settings", engine.settings], stdout=subprocess.DEVNULL)


def test_a_call_goes_before_fifty_refreshes_that_wait(make_simulator, make_engine):
    provider = make_simulator({
        "streams": {"max_concurrent": 1}, "rules": [{"provider": "apns", "token": "plug", "delay_ms": 12_000}]})
    keys = {name: value for name, value in provider.settings().items() if name.startswith("apns_key")}
    engine = make_engine(provider, **keys, apns_team_id="DEF123GHIJ", request_timeout=30_000)
    plug = send(engine, "refresh", "plug")
    wait_until("one push is on its way", lambda: engine.stats()["in_flight"] == 1)
    refreshes = [send(engine, "refresh", f"refresh{number}") for number in range(50)]
    wait_until("all refreshes wait", lambda: engine.stats()["waiting"] == 50)
    call = send(engine, "call", "call")
    wait_until("the call waits too", lambda: engine.stats()["waiting"] == 51)
    assert [r["path"].rsplit("/", 1)[1] for r in provider.requests] == ["plug"], "the plug was pulled too early"
    assert [process.wait(60) for process in [plug, call, *refreshes]] == [0] * 52
    order = [r["path"].rsplit("/", 1)[1] for r in provider.requests]
    assert order[:2] == ["plug", "call"]
    assert sorted(order[2:]) == sorted(f"refresh{number}" for number in range(50))


def test_the_load_is_in_the_statistics(make_simulator, make_engine):
    """Ninety of a hundred places are taken; nothing moves."""
    provider = make_simulator({
        "streams": {"max_concurrent": 1}, "rules": [{"provider": "apns", "no_answer": True}]})
    keys = {name: value for name, value in provider.settings().items() if name.startswith("apns_key")}
    engine = make_engine(provider, **keys, apns_team_id="DEF123GHIJ", request_timeout=60_000,
                         queue_size=20)
    idle = engine.stats()
    assert idle["waiting"] == idle["load_queue_percent"] == 0 and 0 <= idle["load_level"] <= 4
    assert all(idle[name] >= 0 for name in LOAD)
    plug = send(engine, "call", "plug")
    wait_until("one push is on its way", lambda: engine.stats()["in_flight"] == 1)
    waiting = [send(engine, "call", f"call{number}") for number in range(18)]
    try:
        wait_until("the queue is full", lambda: engine.stats()["load_queue_percent"] == 90)
        wait_until("the load is extreme", lambda: engine.stats()["load_level"] == 4)
        # Messages wait for better times by default, and say so.
        done = engine.run("send", "chat", "--platform", "apns", "--package", "com.example.phone", "--token", "chat",
                          "--service", "remote", "--json")
        row = json.loads(done.stdout)[0]
        assert done.returncode == 1
        assert (row["outcome"], row["reason"]) == ("overloaded", "LoadLevel 4")
        assert engine.stats()["apns_overloaded"] == 1
    finally:
        for process in [plug, *waiting]:
            process.kill()
            process.wait()


def test_a_message_that_is_switched_off_is_refused_while_calls_go_through(make_kamailio, actors, simulator):
    kamailio = make_kamailio(settings={"load_chat": "never"}).start().wait_engine()
    stats = kamailio.rpc("pushwake.stats")
    assert all(f"{name}: " in stats for name in LOAD)
    phone = actors.phone(kamailio, "quiet", rfc8599_fcm())
    other = actors.phone(kamailio, "silent", flexisip())
    for sleeper in (phone, other):
        sleeper.register()
    for number, sleeper in enumerate((phone, other), 1):
        actors.call(kamailio, sleeper.user, "message", code=408, timeout=40)
        provider = "fcm" if sleeper is phone else "apns"
        kamailio.wait_log(f"RESULT provider={provider} outcome=rejected aor={sleeper.user} status=0 removed=0")
        assert simulator.pushes(sleeper.push.token) == []
    wait_until("the refusals are counted", lambda: (kamailio.counter("fcm_rejected"), kamailio.counter("apns_rejected")) == (1, 1))
    assert kamailio.counter("pushes") == 0
    kamailio.wait_none_held()

    caller = actors.call(kamailio, "quiet", "call")
    phone.wait_and_wake()
    caller.finish()
    assert kamailio.counter("pushes") == kamailio.counter("fcm_accepted") == 1
    assert len(simulator.pushes(phone.push.token)) == 1
