# SPDX-License-Identifier: MIT
"""Settings that an engine reads again: SIGHUP, `pushwake reload`, and pushwake.reload of a PBX."""

import json
import pathlib
import signal
import subprocess
import uuid

from servers import PUSHWAKE, change, wait_until


def hang_up(engine, text):
    """Sends SIGHUP and waits for a line."""
    before = len(engine.text())
    engine.process.send_signal(signal.SIGHUP)
    return wait_until(text, lambda: engine.text()[before:] if text in engine.text()[before:] else None)


def test_a_provider_is_switched_on_and_off_while_the_engine_runs(make_engine, simulator):
    keys = simulator.settings()
    engine = make_engine(fcm_url=keys["fcm_url"])
    assert engine.call("com.example.phone") == ("misconfigured", "NoCredential")
    apns = {name: keys[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}
    change(engine, **apns)
    said = hang_up(engine, "apns_team_id: the new value counts from now on")
    assert said.count("apns_key: the new value counts") == 1
    assert engine.call("com.example.phone")[0] == "accepted"
    change(engine, *apns)
    hang_up(engine, "apns_key: the new value counts from now on")
    assert engine.call("com.example.phone") == ("misconfigured", "NoCredential")


def test_a_push_under_way_is_finished_when_its_provider_is_switched_off(make_engine, make_simulator):
    slow = make_simulator({"rules": [{"token": "aa*", "delay_ms": 1500, "status": 200}]})
    engine = make_engine(provider=slow, **slow.settings())
    token = "aa" + uuid.uuid4().hex
    command = [PUSHWAKE, "send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", token, "--json",
               "--settings", engine.settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        wait_until("the push is under way", lambda: engine.stats()["in_flight"] == 1)
        change(engine, "apns_key", "apns_key_id", "apns_team_id")
        assert engine.run("reload").returncode == 0
        assert json.loads(sender.communicate(timeout=10)[0])[0]["outcome"] == "accepted"


def test_what_takes_a_restart_is_named_and_stays(make_engine, tmp_path):
    engine = make_engine()
    change(engine, store_path=tmp_path / "other.db", engine_socket=tmp_path / "other.sock", log_level="warning")
    said = hang_up(engine, "store_path: the old value counts until the engine is started again; restart it")
    assert said.count("engine_socket: the old value counts") == 1
    assert not (tmp_path / "other.db").exists() and not (tmp_path / "other.sock").exists()
    change(engine, engine_socket=engine.settings.parent / "engine.sock")
    before = len(engine.text())
    assert engine.run("stats").returncode == 0
    # log_level was taken: what is only of note is left out now.
    change(engine, wake_timeout=20)
    assert "wake_timeout: the new value counts" in engine.run("reload").stdout
    assert "wake_timeout" not in engine.text()[before:]


def test_a_broken_file_changes_nothing_and_is_named_with_its_line(make_engine, simulator):
    engine = make_engine(**{name: value for name, value in simulator.settings().items() if name.startswith("apns")})
    change(engine, "apns_key", "apns_key_id", "apns_team_id", wake_timeout=20)
    with engine.settings.open("a") as file:
        file.write("silent_after = soon\n")
    line = len(engine.settings.read_text().splitlines())
    said = hang_up(engine, f"{engine.settings}:{line}: silent_after: ")
    assert "all settings stay as they were" in said and "new value" not in said
    # The shell would stumble over the file too.
    assert engine.run("reload").returncode == 2
    command = [PUSHWAKE, "send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", uuid.uuid4().hex,
               "--socket", engine.settings.parent / "engine.sock"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0, "the key is still in use"
    done = subprocess.run([PUSHWAKE, "reload", "--socket", engine.settings.parent / "engine.sock"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and f":{line}: silent_after: " in done.stderr
    engine.settings.rename(engine.settings.parent / "away")
    hang_up(engine, f"read {engine.settings}")
    assert engine.process.poll() is None


def test_the_shell_says_what_was_taken(make_engine):
    engine = make_engine()
    assert (engine.run("reload").stdout, engine.run("reload").returncode) == ("", 0)
    change(engine, wake_timeout=20, queue_size=2000)
    rows = json.loads(engine.run("reload", "--json").stdout)
    assert [list(row) for row in rows] == [["taken"], ["restart"]]
    assert rows[0]["taken"].startswith("wake_timeout: ") and rows[1]["restart"].startswith("queue_size: ")
    change(engine, apns_key="/nonexistent/AuthKey_ABC123DEFG.p8", apns_team_id="DEF123GHIJ")
    done = engine.run("reload")
    assert done.returncode == 1 and "apns_key: " in done.stderr and "apns_key: the new value" in done.stdout


def test_a_value_that_will_hardly_do_is_named_and_taken(make_engine, simulator):
    engine = make_engine(**simulator.settings())
    change(engine, apns_team_id="DEF123")
    done = engine.run("reload")
    assert done.returncode == 0 and "apns_team_id: the new value" in done.stdout
    assert "apns_team_id: \"DEF123\" has not the ten characters" in done.stderr
    assert "apns_team_id: \"DEF123\" has not the ten characters" in engine.text()
    change(engine, apns_team_id="GHI456")
    rows = json.loads(engine.run("reload", "--json").stdout)
    assert [list(row) for row in rows] == [["taken"], ["doubt"]]


def test_a_pbx_has_the_engine_reload(make_engine, make_kamailio):
    engine = make_engine()
    socket = engine.settings.parent / "engine.sock"
    kamailio = make_kamailio(settings={"engine_mode": "external", "engine_socket": str(socket)}).start().wait_engine()
    change(engine, wake_timeout=20)
    assert "taken: wake_timeout: the new value" in kamailio.rpc("pushwake.reload")


def test_a_bad_key_in_place_of_a_bad_key_is_not_called_read(make_engine, simulator, tmp_path):
    made = simulator.settings()
    key = tmp_path / pathlib.Path(made["apns_key"]).name
    good = pathlib.Path(made["apns_key"]).read_bytes()
    key.write_bytes(good)
    engine = make_engine(apns_key=key, apns_key_id=made["apns_key_id"], apns_team_id=made["apns_team_id"])
    key.write_bytes(b"no key")
    wait_until("the log names it", lambda: f"{key} holds no private key" in engine.text())
    key.write_bytes(b"no key either")
    notice = wait_until("the log has another line", lambda: [line for line in engine.text().splitlines() if " notice " in line])
    assert "the keys for apns have changed and were read again; what could not be used before still cannot (1)" in notice[0]
    key.write_bytes(good)
    wait_until("it is read", lambda: engine.text().endswith("the keys for apns have changed and were read again\n"))
