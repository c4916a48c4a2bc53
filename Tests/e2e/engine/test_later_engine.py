# SPDX-License-Identifier: MIT
"""An engine of a later release says what the module does not know."""

import pytest

from peers.faint_engine import FaintEngine
from phones import rfc8599_fcm


@pytest.fixture
def server(make_kamailio, tmp_path):
    later = FaintEngine(tmp_path / "engine.sock", verdict=7)
    yield make_kamailio(settings={"engine_mode": "external", "engine_socket": str(later.path)}).start()
    later.stop()


def test_a_verdict_that_nobody_knows_is_none_and_is_said_once(server, wire):
    phone = wire.phone(server, "later", "udp", rfc8599_fcm())
    phone.register()
    for _ in range(3):
        call = wire.call(server, phone.user)
        call.wait_status(200)
        call.hang_up()
    said = [line for line in server.log_text().splitlines() if "the engine is of a later release (verdict 7)" in line]
    workers = {line.split("(")[1].split(")")[0] for line in said}
    assert 1 <= len(said) == len(workers) and "pushwake_lookup goes on without push" in said[0]
    assert server.held() == 0
