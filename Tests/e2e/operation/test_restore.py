# SPDX-License-Identifier: MIT
"""The way back for bindings that were removed in error, and the backup of all of them."""

import datetime
import json
import uuid

import pytest

from servers import wait_until


def line(aor, token, provider="fcm", **more):
    """A binding as `pushwake bindings export` writes it."""
    now = int(datetime.datetime.now().timestamp())
    return json.dumps({
        "aor": aor, "provider": provider, "app": "pushwake-simulator", "token": token, "dialect": "rfc8599",
        "instance": f"<urn:uuid:{uuid.uuid4()}>", "contact": f"sip:{aor}@192.0.2.1", "call_id": uuid.uuid4().hex, "cseq": 1,
        "registered_at": now - 600, "expires_at": now + 600, "forget_at": now + 86400, **more})


@pytest.fixture(params=["sqlite", "memory", "valkey"])
def engine(request, make_engine, simulator, tmp_path):
    """Five users: three whose tokens are dead, and two others."""
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("fcm")}
    store = request.getfixturevalue("make_valkey")().url if request.param == "valkey" else request.param
    engine = make_engine(store=store, **keys)
    if request.param == "valkey":
        wait_until("the store is there", lambda: "connected" in engine.text())
    tokens = {f"dead{n}": f"unregistered-{uuid.uuid4().hex}" for n in range(3)} | {
        f"fine{n}": uuid.uuid4().hex for n in range(2)}
    file = tmp_path / "bindings.jsonl"
    file.write_text("".join(line(aor, token) + "\n" for aor, token in tokens.items()))
    assert engine.run("bindings", "import", file).returncode == 0
    engine.tokens = tokens
    return engine


def removed(engine):
    return [aor for aor in engine.tokens if "removed:" in engine.run("bindings", aor).stdout]


def push(engine, *users):
    return [json.loads(engine.run("send", "call", user, "--json").stdout)[0]["outcome"] for user in users]


def test_what_was_removed_in_error_comes_back_and_is_pushed_again(engine, simulator):
    assert push(engine, "fine0", "fine1", "dead0", "dead1") == ["accepted"] * 2 + ["token-gone"] * 2
    assert removed(engine) == ["dead0", "dead1"]

    dry = engine.run("bindings", "restore", "--since", "2h", "--reason", "UNREGISTERED", "--dry-run")
    assert dry.returncode == 0 and "dead0" in dry.stdout and "2 bindings would be restored" in dry.stdout
    assert removed(engine) == ["dead0", "dead1"]
    none = engine.run("bindings", "restore", "--since", "2h", "--reason", "BadDeviceToken")
    assert none.returncode == 1 and "no binding like that was removed within 2h" in none.stderr

    one = engine.run("bindings", "restore", "--since", "2h", "dead1")
    assert one.returncode == 0 and "restored 1 binding\n" in one.stdout and removed(engine) == ["dead0"]
    assert engine.tokens["dead0"] not in one.stdout + dry.stdout
    rest = engine.run("bindings", "restore", "--since", "2h", "--json")
    assert [row["aor"] for row in json.loads(rest.stdout)] == ["dead0"] and removed(engine) == []
    assert int(json.loads(engine.run("stats", "--json").stdout)["bindings_restored"]) == 2

    before = len(simulator.pushes(engine.tokens["dead0"]))
    push(engine, "dead0")
    assert len(simulator.pushes(engine.tokens["dead0"])) == before + 1
    assert removed(engine) == ["dead0"], "its provider calls it dead once more"


def test_what_was_removed_by_hand_comes_back_by_its_reason_alone(engine):
    assert engine.run("bindings", "remove", "fine0").returncode == 0
    assert engine.run("bindings", "restore", "--since", "2h").returncode == 1
    assert engine.run("bindings", "restore", "--since", "2h", "--reason", "by hand", "--user", "f*").returncode == 0
    assert push(engine, "fine0") == ["accepted"]


def test_what_does_not_fit_is_an_error_of_usage(engine):
    for arguments in ([], ["--since", "tomorrow"], ["--since", "2h", "--provider", "none"]):
        done = engine.run("bindings", "restore", *arguments)
        assert done.returncode == 64 and "--since" in done.stderr + done.stdout or "provider" in done.stderr, done


# The backup.


def test_a_backup_is_whole_and_the_newest_stay(engine, make_engine, tmp_path, simulator):
    place = tmp_path / "backup"
    place.mkdir()
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=n) for n in range(9)]
    for day in days:
        (place / f"bindings-{day}.jsonl").write_text("{}\n")
    (place / "bindings-of-mine.jsonl").write_text("")
    done = engine.run("bindings", "export", "--backup", place)
    assert done.returncode == 0, done.stderr
    today = place / f"bindings-{datetime.date.today()}.jsonl"
    assert done.stdout == f"{today}: 5 bindings\n" and today.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in place.iterdir()) == sorted(
        [f"bindings-{day}.jsonl" for day in days[3:]] + [today.name, "bindings-of-mine.jsonl"])
    again = engine.run("bindings", "export", "--backup", place, "--keep", "2")
    assert again.returncode == 0 and len(list(place.iterdir())) == 3
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("fcm")}
    other = make_engine(**keys)
    assert "stored 5;" in other.run("bindings", "import", today).stdout
    assert push(other, "fine0") == ["accepted"]


def test_a_backup_that_fails_leaves_the_others_alone(engine, make_engine, tmp_path):
    place = tmp_path / "backup"
    place.mkdir()
    names = [f"bindings-2026-01-0{n}.jsonl" for n in range(1, 10)]
    for name in names:
        (place / name).write_text("{}\n")
    empty = make_engine(store="memory")
    assert empty.run("bindings", "export", "--backup", place).returncode == 0
    assert set(names) < {path.name for path in place.iterdir()}, "there was nothing to copy"
    done = engine.run("bindings", "export", "--backup", tmp_path / "nowhere")
    assert done.returncode == 1 and "give a directory that this user may write to" in done.stderr
    engine.stop()
    before = {path: path.read_text() for path in place.iterdir()}
    assert engine.run("bindings", "export", "--backup", place).returncode == 1
    assert {path: path.read_text() for path in place.iterdir()} == before
