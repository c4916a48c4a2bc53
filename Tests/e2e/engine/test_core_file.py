# SPDX-License-Identifier: MIT
"""What a core file of an engine that died holds of its keys."""

import json
import os
import pathlib
import resource
import signal
import uuid

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()


@pytest.fixture
def cores(tmp_path, monkeypatch):
    """Programs that start now leave their core files here."""
    if "/" in PATTERN or PATTERN.startswith("|"):
        pytest.skip(f"core files go elsewhere: {PATTERN}")
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] != resource.RLIM_INFINITY:
        pytest.skip("core files are forbidden")
    directory = tmp_path / "cores"
    directory.mkdir()
    monkeypatch.chdir(directory)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, before[1]))
    yield directory
    resource.setrlimit(resource.RLIMIT_CORE, before)


def secrets(settings):
    """What must not be found, by name: the numbers of both keys as OpenSSL has them, and their texts."""
    found = {}
    apple = pathlib.Path(settings["apns_key"]).read_text()
    google = json.loads(pathlib.Path(settings["fcm_key"]).read_text())["private_key"]
    for name, text in (("apple", apple), ("google", google)):
        key = load_pem_private_key(text.encode(), None).private_numbers()
        numbers = {"d": key.private_value} if name == "apple" else {"d": key.d, "p": key.p, "q": key.q}
        for number, value in numbers.items():
            size = (value.bit_length() + 7) // 8
            found[f"{name} {number}"] = value.to_bytes(size, "little")[:64]
            found[f"{name} {number}, as in its file"] = value.to_bytes(size, "big")[:64]
        found[f"{name}, text"] = text[28:-28].encode()
    return found


def die(engine, simulator):
    """Signs with both keys, then crashes."""
    for platform, app in (("apns", "com.example.phone"), ("fcm", "pushwake-simulator")):
        token = uuid.uuid4().hex
        done = engine.run("send", "call", "--platform", platform, "--package", app, "--token", token)
        assert done.returncode == 0 and simulator.pushes(token), done.stderr
    engine.process.send_signal(signal.SIGABRT)
    assert engine.process.wait(30) == -signal.SIGABRT


def test_a_core_file_has_no_key(make_engine, simulator, cores):
    engine = make_engine(**simulator.settings())
    die(engine, simulator)
    found = [path.read_bytes() for path in cores.iterdir()]
    assert len(found) == 1 and str(engine.settings).encode() in found[0], "what the engine knows is there"
    assert [name for name, secret in secrets(simulator.settings()).items() if secret in found[0]] == []


def test_there_is_no_core_file_with_the_key_of_a_gateway(make_engine, simulator, cores, tmp_path):
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    os.chmod(key, 0o600)
    die(make_engine(**simulator.settings(), secret_key_file=key), simulator)
    assert list(cores.iterdir()) == []
