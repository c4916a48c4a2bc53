# SPDX-License-Identifier: MIT
"""A connection whose stream ids run out: its requests are answered there, the next go over another one."""

import collections
import json
import os
import subprocess

import pytest

from peers.raw_provider import RawProvider
from servers import PUSHWAKE

COUNT = 60

# A connection has 2^30 streams; this leaves it few of them.
LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

int nghttp2_session_client_new3(void **session, const void *callbacks, void *user, const void *option, void *memory)
{
    int (*new)(void **, const void *, void *, const void *, void *) = dlsym(RTLD_NEXT, "nghttp2_session_client_new3");
    int (*set)(void *, int32_t) = dlsym(RTLD_NEXT, "nghttp2_session_set_next_stream_id");
    int made = new(session, callbacks, user, option, memory);
    return made ? made : set(*session, INT32_MAX - 2 * (atoi(getenv("STREAMS_LEFT")) - 1));
}
"""


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    directory = tmp_path_factory.mktemp("late")
    (directory / "late.c").write_text(LATE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "late.so", directory / "late.c"], check=True)
    return directory / "late.so"


@pytest.mark.parametrize("streams", [1, 100], ids=lambda n: f"{n} at a time")
@pytest.mark.parametrize("left", [1, 7])
def test_no_push_is_lost_or_doubled_when_they_run_out(simulator, late, left, streams):
    taken = []

    def counting(peer):
        peer.preface((3, streams))
        for stream in peer.requests():
            taken.append(peer.number)
            peer.accept(stream)
    files = simulator.directory / "files"
    provider = RawProvider(files, counting)
    try:
        done = subprocess.run(
            [PUSHWAKE, "load", "--provider", "apns", "--url", provider.url, "--dir", files, "--count", str(COUNT),
             "--concurrency", "20", "--json"], env={**os.environ, "LD_PRELOAD": str(late), "STREAMS_LEFT": str(left)},
            capture_output=True, text=True, timeout=60, check=False)
    finally:
        provider.stop()
    assert done.returncode == 0 and json.loads(done.stdout)["accepted"] == COUNT, done.stderr
    assert len(taken) == COUNT and max(collections.Counter(taken).values()) == left
    assert not provider.errors, provider.errors
