# SPDX-License-Identifier: MIT
"""Pushes through HTTP/2 servers that nobody here wrote: nghttpd (nghttp2), hypercorn, and Python's h2 with faults."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from ports import free_port
from servers import PUSHWAKE, wait_until

PEERS = pathlib.Path(__file__).parents[1] / "peers"
LOAD_PUSHES = pathlib.Path(__file__).parents[3] / "scripts/load/load_pushes.py"


class Foreign:
    """A server process with the certificate of the simulator's files."""

    def __init__(self, command, port, directory, **environment):
        self.url = f"https://127.0.0.1:{port}"
        self.output = directory / "server.log"
        self.process = subprocess.Popen([str(word) for word in command], cwd=directory, stdin=subprocess.DEVNULL,
                                        stdout=open(self.output, "wb"), stderr=subprocess.STDOUT, env=os.environ | environment)
        wait_until("the server answers", lambda: subprocess.run(
            ["curl", "-sk", "--http2", "-m", "2", "-o", "/dev/null", self.url + "/"], check=False).returncode == 0)

    def load(self, files, count, streams, connections=1):
        done = subprocess.run(
            [PUSHWAKE, "load", "--url", self.url, "--dir", files, "--count", str(count), "--concurrency", str(streams),
             "--connections", str(connections), "--json"], capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture
def start(tmp_path):
    started = []

    def make(*arguments, **environment):
        started.append(Foreign(*arguments, tmp_path, **environment))
        return started[-1]

    yield make
    for server in started:
        server.stop()


@pytest.fixture
def files(simulator):
    return simulator.directory / "files"


@pytest.mark.parametrize("streams", [1, 100])
def test_nghttpd_takes_every_push_once(start, files, tmp_path, streams):
    port = free_port()
    server = start(["nghttpd", "--echo-upload", "-v", port, files / "server.key", files / "server.pem"], port)
    said = server.load(files, 1000, streams)
    assert said["accepted"] == 1000
    seen = [line.split("/3/device/")[1] for line in server.output.read_text(errors="replace").splitlines()
            if "recv (stream_id" in line and ":path: /3/device/" in line]
    assert len(seen) == len(set(seen)) == 1000


def test_nghttpd_that_allows_few_streams_gets_no_more(start, files):
    port = free_port()
    server = start(["nghttpd", "--echo-upload", "-m", "3", port, files / "server.key", files / "server.pem"], port)
    assert server.load(files, 500, 100, connections=2)["accepted"] == 500


@pytest.mark.parametrize("faults", ["", "yes"], ids=["good", "with 500, 503 and 429"])
def test_hypercorn_takes_every_push_once(start, files, tmp_path, faults):
    port, counts = free_port(), tmp_path / "counts"
    counts.mkdir()
    server = start(
        [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{port}", "--certfile", files / "server.pem",
         "--keyfile", files / "server.key", "foreign_app:app"], port, PYTHONPATH=str(PEERS), COUNTS=str(counts), FAULTS=faults)
    said = server.load(files, 1000, 100)
    assert said["accepted"] == 1000, said
    times = {path.name: path.stat().st_size for path in counts.iterdir()}
    assert len(times) == 1000 and set(times.values()) == {1}


@pytest.mark.parametrize("mix", [9, 16])
def test_faults_of_pythons_h2_lose_and_double_no_push(mix):
    done = subprocess.run(
        [sys.executable, LOAD_PUSHES, "--foreign", "--pushes", "3000", "--round", "3000", "--seed", "2026", "--first", str(mix)],
        capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
