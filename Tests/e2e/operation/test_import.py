# SPDX-License-Identifier: MIT
"""Bindings from a file: which lines could not be stored, and that no other is lost for them."""

import json
import re
import resource
import subprocess
import time

import pytest

from peers.binding_lines import line
from servers import PUSHWAKE


def take(engine, *words, **options):
    path = re.search(r"engine_socket = (\S+)", engine.settings.read_text())[1]
    return subprocess.run([PUSHWAKE, "bindings", "import", *words, "--socket", path], capture_output=True, text=True,
                          check=False, timeout=60, **options)


def test_an_import_names_the_lines_that_it_leaves_out(make_engine, tmp_path):
    engine = make_engine(store="memory")
    lines = [line(number) for number in range(1, 1001)]
    lines[7] = lines[7][:95]
    lines[400] = line(401, expires_at=None)
    lines[500] = line(501, contact="sip:" + "x" * 3_000_000)
    lines[998] = line(999, provider="carrier-pigeon")
    lines.insert(2, "")
    file = tmp_path / "all.jsonl"
    file.write_text("\n".join(lines) + "\n")
    done = take(engine, file, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"stored": 996, "same_here": 0, "newer_here": 0, "over": 0, "problems": 4}
    said = dict(re.findall(rf"{re.escape(str(file))}:(\d+): a line was left out: (.*)", done.stderr))
    assert list(said) == ["9", "402", "502", "1000"], done.stderr
    assert said["9"].startswith("column ") and said["402"] == "expires_at is missing"
    assert said["502"].startswith("it has 3000") and said["1000"] == "there is no such provider"


def test_an_import_says_how_many_lines_it_does_not_name(make_engine):
    engine = make_engine(store="memory")
    done = take(engine, "-", "--json", input="\ufeff" + line(1) + "\n" + 1000 * "{}\n")
    assert json.loads(done.stdout) == {"stored": 1, "same_here": 0, "newer_here": 0, "over": 0, "problems": 1000}, done.stderr
    named = done.stderr.count("a line was left out: aor is missing")
    others = [int(number) for number in re.findall(r"standard input: and (\d+) more of lines 1 to 1001", done.stderr)]
    assert 0 < named < 1000 and named + sum(others) == 1000, done.stderr


def test_an_import_says_that_a_file_could_not_be_read_to_its_end(make_engine, tmp_path):
    engine = make_engine(store="memory")
    done = take(engine, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot read {tmp_path}: Is a directory" in done.stderr


def test_an_import_of_a_line_without_end_ends(make_engine, tmp_path):
    engine = make_engine(store="memory")
    memory = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (40 << 20, 40 << 20))}
    done = take(engine, "/dev/zero", **memory)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "cannot read /dev/zero: a line has more than 67108864 bytes" in done.stderr
    file = tmp_path / "all.jsonl"
    file.write_text("\n".join([line(1), "x" * 60_000_000, line(2), "x" * 80_000_000, line(3)]))
    done = take(engine, file, "--json", **memory)
    assert done.returncode == 1 and json.loads(done.stdout)["stored"] == 2, done.stderr
    assert f"{file}:2: a line was left out: it has 60000000 bytes, which no binding has" in done.stderr
    assert f"{file}:3: what comes next cannot be read: a line has more than 67108864 bytes" in done.stderr


def test_an_import_takes_no_user_whom_nobody_could_name(make_engine):
    engine = make_engine(store="memory")
    lines = [line(1, aor="a\nb"), line(2, aor="a" * 5000), line(3, cseq=-5), line(4, registered_at=1e30)]
    done = take(engine, "-", "--json", input="\n".join(lines))
    assert json.loads(done.stdout)["problems"] == 4
    assert done.stderr.count("aor is neither user nor user@domain") == 2
    for name in ("cseq", "registered_at"):
        assert f"{name} has a number that is not allowed" in done.stderr


def test_what_a_clock_that_ran_ahead_has_written_is_of_now(make_engine):
    engine = make_engine(store="memory")
    far = 2**62
    assert take(engine, "-", input=line(1, registered_at=far, expires_at=far, forget_at=far)).returncode == 0
    path = re.search(r"engine_socket = (\S+)", engine.settings.read_text())[1]
    listed = subprocess.run([PUSHWAKE, "bindings", "export", "--socket", path], capture_output=True, text=True,
                            check=True, timeout=60)
    # What comes later is newer than it.
    assert json.loads(listed.stdout)["registered_at"] <= time.time()


def test_an_import_that_cannot_go_on_says_where_it_stopped(make_engine, tmp_path):
    engine = make_engine(store="memory")
    engine.stop()
    done = take(engine, "-", input="\n".join(line(number) for number in range(1, 1001)))
    assert done.returncode == 1 and "no engine answers" in done.stderr
    assert re.search(r"standard input:\d+: what comes next was not sent", done.stderr), done.stderr
    assert done.stdout.startswith("stored 0; ")


def test_a_file_that_is_here_already_changes_nothing_and_says_so(make_engine):
    engine = make_engine()
    lines = "\n".join(line(number) for number in range(1, 4))
    assert json.loads(take(engine, "-", "--json", input=lines).stdout)["stored"] == 3
    done = take(engine, "-", input=lines)
    assert done.returncode == 0 and done.stdout.startswith("stored 0; 3 are the same here, 0 are newer here"), done.stdout


def test_many_lines_of_one_user_are_all_read(make_engine):
    engine = make_engine(store="memory", bindings_per_user=200)
    lines = [line(1, token=f"{number:064x}", instance=f"<{number}>", call_id=f"c{number}", contact=f"sip:{number}@192.0.2.1",
                  attributes={"x": "y" * 1000}) for number in range(1, 151)]
    done = take(engine, "-", "--json", input="\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stored"] == 150


@pytest.mark.alone
def test_an_engine_that_asks_phones_to_register_answers_as_soon_as_one_that_does_not(make_engine, tmp_path):
    """It has to know when the registrations of all phones end, and nobody waits for that."""
    store = {"store_path": tmp_path / "many.db"}
    engine = make_engine(**store)
    file = tmp_path / "many.jsonl"
    file.write_text("".join(line(number, forget_at=int(time.time()) + 30 * 86400) + "\n" for number in range(100_000)))
    assert json.loads(take(engine, file, "--json").stdout)["stored"] == 100_000
    engine.stop()

    def start(**settings):
        begin = time.monotonic()
        engine = make_engine(**store, **settings)
        assert engine.stats()["bindings"] == 100_000
        took = time.monotonic() - begin
        engine.stop()
        return took

    start()
    without = min(start() for _ in range(3))
    assert start(refresh_before=150) < without + 0.25
