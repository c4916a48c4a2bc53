# SPDX-License-Identifier: MIT
"""Kamailio as a package's unit runs it: started by root, going on as its own user."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from phones import mpush_ios
from servers import PUSHWAKE, Kamailio

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
USER = "kamailio"


@pytest.fixture
def home():
    """A directory of that user; those of pytest are closed to it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-"))
    shutil.chown(path, USER, USER)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def files(home, simulator):
    """The simulator's keys, which that user can read but for the one of Apple."""
    made = simulator.settings()
    for name in ("ca_file", "apns_key", "fcm_key"):
        made[name] = shutil.copy(made[name], home)
        shutil.chown(made[name], USER, USER)
    shutil.chown(made["apns_key"], "root", "root")
    pathlib.Path(made["apns_key"]).chmod(0o600)
    return made


def test_a_key_that_only_root_can_read_is_named_at_the_start(home, files, simulator, actors):
    kamailio = Kamailio(home, simulator, settings=files, arguments=["-u", USER, "-g", USER])
    try:
        kamailio.start().wait_engine()
        line = kamailio.wait_log("apns_key", files["apns_key"], "Permission denied")
        assert "WARNING" in line
        actors.phone(kamailio, "keyless", mpush_ios()).register()
        actors.call(kamailio, "keyless", "call")
        assert files["apns_key"] in kamailio.wait_log("NoCredential")
    finally:
        kamailio.stop()


def check(home, files, *arguments):
    settings = home / "pushwake.conf"
    rows = {"store_path": home / "bindings.db", "engine_socket": home / "engine.sock", **files}
    settings.write_text("".join(f"{name} = {value}\n" for name, value in rows.items()))
    return subprocess.run([PUSHWAKE, "check", settings, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [[], ["--user", USER]])
def test_check_looks_with_the_eyes_of_the_engine(home, files, arguments):
    done = check(home, files, *arguments)
    assert done.returncode == 1
    assert f"apns_key: cannot read {files['apns_key']}: Permission denied" in done.stdout
    assert f"as user {USER}" in done.stdout
    shutil.chown(files["apns_key"], USER, USER)
    done = check(home, files, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"all is well for user {USER}" in done.stdout


def test_check_needs_a_user_that_exists(home, files):
    done = check(home, files, "--user", "nobody-of-this-name")
    assert done.returncode == 2 and "there is no user nobody-of-this-name" in done.stderr


def test_a_store_that_cannot_be_made_names_the_directory(home, files, simulator):
    closed = home / "closed"
    closed.mkdir(mode=0o755)
    kamailio = Kamailio(home, simulator, settings={**files, "store_path": closed / "b.db"}, arguments=["-u", USER, "-g", USER])
    try:
        kamailio.launch()
        assert f"`chown {USER} {closed}`" in kamailio.wait_log(f"{closed}/b.db", "Permission denied", seconds=10)
    finally:
        kamailio.stop()


@pytest.fixture
def rested(home, files, simulator):
    """A store that an engine of that user has made and left; its settings."""
    settings = {**files, "store_path": home / "b.db", "upper_servers": "pbx.example.com"}
    for path in files["apns_key"], home / "b.db-shm", home / "b.db-wal":
        pathlib.Path(path).touch()
        shutil.chown(path, USER, USER)
    kamailio = Kamailio(home, simulator, settings=settings, arguments=["-u", USER, "-g", USER])
    kamailio.start().wait_engine().stop()
    return settings


@pytest.mark.parametrize("name", ["b.db-wal", "b.db-shm", "b.db-refreshes", "b.db-times", "upstream.db", "upstream.db-wal"])
def test_a_file_beside_the_store_that_root_has_made_is_named(home, rested, simulator, name):
    """By check, and by the engine where it begins."""
    (home / name).touch()
    os.chown(home / name, 0, 0)
    (home / name).chmod(0o600)
    done = check(home, rested)
    line = next((line for line in done.stdout.splitlines() if ": store_path: " in line and str(home / name) in line), None)
    assert done.returncode == 1 and line, done.stdout
    kamailio = Kamailio(home, simulator, settings=rested, arguments=["-u", USER, "-g", USER])
    try:
        kamailio.launch()
        assert f"chown {USER} {home / name}" in kamailio.wait_log(f"{home / name} cannot be", seconds=10)
    finally:
        kamailio.stop()


def test_an_engine_that_is_missing_is_said_to_be(home, files, simulator):
    """With a directory in PATH that the user cannot look into, as root's PATH has it."""
    (home / "private").mkdir(mode=0o700)
    kamailio = Kamailio(home, simulator, settings={**files, "engine_path": "pushwake-is-not-here"}, arguments=["-u", USER, "-g", USER],
                        program=["env", f"PATH={home}/private:{os.environ['PATH']}", "kamailio"])
    try:
        kamailio.start()
        line = kamailio.wait_log("cannot start pushwake-is-not-here")
        assert "none in PATH; set engine_path" in line and "Permission denied" not in line
    finally:
        kamailio.stop()
