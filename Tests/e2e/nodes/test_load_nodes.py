# SPDX-License-Identifier: MIT
"""300 calls a second over two nodes, half of whose phones wake at the other one; `make load` does it for a minute, and looks
at what is left of them in memory."""

import subprocess
import sys
import time

import pytest

from servers import ROOT, wait_until

sys.path.append(str(ROOT / "scripts/bench"))

RATE, SECONDS = 300, 4


@pytest.fixture
def nodes(tmp_path):
    from call_servers import BENCH, CallNodes, make_keys

    made = [f"../{(BENCH / name).relative_to(ROOT)}" for name in ("calls", "sink")]
    subprocess.run(["make", "-s", "-C", ROOT / "Benchmarks", *made], check=True)
    nodes = CallNodes(tmp_path / "nodes", make_keys(tmp_path / "keys"), wake_timeout=3)
    yield nodes
    nodes.stop()


@pytest.mark.alone
def test_every_call_ends_as_it_should(nodes):
    users = RATE * SECONDS
    nodes.register(users)
    # A phone that registered at another node a second ago is rung there at once.
    time.sleep(2.1)
    found = nodes.calls(users, RATE, "--users", users, "--linger-ms", 1000, "--cancel", 10, "--busy", 5, "--never", 5)
    assert found["ok"] == users, found
    assert found["left_ringing"] == found["doubled_invites"] == found["doubled_pushes"] == 0
    assert set(found["finals"]) == {"200", "480", "486", "487"}
    for node in nodes.nodes:
        wait_until("nothing is held", lambda node=node: node.kamailio.held() == 0)
        assert node.kamailio.counter("registered_elsewhere") > users / 6
