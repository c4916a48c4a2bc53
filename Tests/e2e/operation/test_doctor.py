# SPDX-License-Identifier: MIT
"""pushwake doctor goes along the way of a call and names the one thing to do."""

import json
import subprocess

from phones import mpush_android, mpush_ios
from servers import PUSHWAKE, wait_until


def doctor(kamailio, user, *options):
    return subprocess.run([PUSHWAKE, "doctor", user, "--socket", kamailio.directory / "engine.sock", *options],
                          capture_output=True, text=True, timeout=30, check=False)


def steps(kamailio, user):
    """State by step, and the advice."""
    rows = json.loads(doctor(kamailio, user, "--json").stdout)
    return {row["step"]: (row["state"], row["text"]) for row in rows}


def test_a_phone_that_wakes_needs_nothing(kamailio, actors):
    phone = actors.phone(kamailio, "healthy", mpush_ios())
    phone.register()
    assert steps(kamailio, "healthy")["advice"][1].startswith("try it: pushwake try healthy")
    caller = actors.call(kamailio, "healthy", "call")
    phone.wait_and_wake()
    caller.finish()
    wait_until("the call is over", lambda: "answered" in steps(kamailio, "healthy")["call"][1])
    found = steps(kamailio, "healthy")
    assert {step: state for step, (state, _) in found.items()} == dict.fromkeys(
        ["clock", "REGISTER", "key", "provider", "push", "wake", "call", "advice"], "ok")
    assert "reached over TLS" in found["provider"][1] and "wakes in" in found["wake"][1]
    done = doctor(kamailio, "healthy")
    assert done.returncode == 0 and done.stdout.endswith("\nDo: nothing: a call to healthy rings\n")
    assert phone.push.token not in done.stdout


def test_a_user_without_a_binding_is_told_why(kamailio, actors):
    phone = actors.phone(kamailio, "moved", mpush_android())
    phone.register()
    done = doctor(kamailio, "stranger")
    assert done.returncode == 1 and "fails REGISTER" in done.stdout and "pushwake parse" in done.stdout
    done = doctor(kamailio, "moved@example.com")
    assert done.returncode == 1 and "Do: ask for the user as the registrar has it: pushwake doctor moved\n" in done.stdout
    # Copied from a phone's settings or a log.
    for name in ("sip:moved@example.com", "SIPS:moved@example.com;transport=tls"):
        assert "Do: ask for the user as the registrar has it: pushwake doctor moved\n" in doctor(kamailio, name).stdout
    # Whoever may ask must not stop the engine by asking.
    assert "no REGISTER of sip:sip:" in doctor(kamailio, "sip:" * 5000 + "moved").stdout


def test_a_binding_that_was_removed_is_named(kamailio, actors):
    actors.phone(kamailio, "gone", mpush_android()).register()
    kamailio.rpc("pushwake.remove", "gone")
    done = doctor(kamailio, "gone")
    assert done.returncode == 1 and "was removed: by hand" in done.stdout and "open the app on the phone" in done.stdout


def test_a_provider_that_cannot_be_reached_is_named(make_kamailio, actors):
    kamailio = make_kamailio(settings={"fcm_url": "https://127.0.0.1:9"})
    kamailio.start().wait_engine()
    actors.phone(kamailio, "away", mpush_android()).register()
    wait_until("the connection was tried", lambda: steps(kamailio, "away")["provider"][0] == "fails")
    found = steps(kamailio, "away")
    assert "cannot be reached" in found["provider"][1] and "firewall" in found["advice"][1]
    assert found["key"][0] == "ok" and doctor(kamailio, "away").returncode == 1


def test_a_clock_that_is_wrong_is_named(make_kamailio, make_simulator, actors):
    simulator = make_simulator(arguments=["--clock", "3900"])
    kamailio = make_kamailio(simulator)
    kamailio.start().wait_engine()
    actors.phone(kamailio, "late", mpush_android()).register()
    wait_until("Google has refused", lambda: steps(kamailio, "late")["key"][0] == "fails")
    found = steps(kamailio, "late")
    assert found["clock"] == ("fails", "this machine's clock is 65 min behind 127.0.0.1's")
    assert "invalid_grant, this machine's clock (iat)" in found["key"][1] and "NTP" in found["advice"][1]
    kamailio.wait_log("this machine's clock is 65 min behind 127.0.0.1's; tokens for Apple and Google carry its time")
    assert doctor(kamailio, "late").returncode == 1
    # Apple says no Date: its refusal alone tells.
    actors.phone(kamailio, "apple", mpush_ios()).register()
    assert "ExpiredProviderToken" in subprocess.run(
        [PUSHWAKE, "send", "call", "apple", "--socket", kamailio.directory / "engine.sock"],
        capture_output=True, text=True, timeout=30, check=False).stdout
    assert "ExpiredProviderToken" in steps(kamailio, "apple")["push"][1] and "NTP" in steps(kamailio, "apple")["advice"][1]


def test_phones_that_stay_silent_are_named(make_kamailio, actors, wire):
    kamailio = make_kamailio(wake_timeout=1)
    kamailio.start().wait_engine()
    actors.phone(kamailio, "silent", mpush_android()).register()
    for _ in range(3):
        assert wire.call(kamailio, "silent").wait_final(10).status == 480
    found = steps(kamailio, "silent")
    assert found["push"][0] == "ok" and found["wake"][0] == "fails"
    assert "battery saving" in found["advice"][1] and "timed out" in found["call"][1]
