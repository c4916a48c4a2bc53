# SPDX-License-Identifier: MIT
"""Somebody takes away the files of a running engine's directory."""

import shutil

from servers import stopped, wait_until


def answers(engine):
    return engine.run("stats").returncode == 0


def test_a_socket_that_was_taken_away_is_made_anew(make_engine, tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    engine = make_engine(store="memory", engine_socket=place / "engine.sock")
    users = place / "engine.sock.users"
    wait_until("the users are told", users.exists)
    shutil.rmtree(place)
    wait_until("it answers again", lambda: answers(engine))
    assert "was removed and has been created again" in engine.text()
    wait_until("the users are told again", users.exists)


def test_an_engine_whose_place_another_one_has_says_so_and_leaves_it_alone(make_engine, tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    first = make_engine(store="memory", engine_socket=place / "engine.sock")
    with stopped(first.process.pid):
        shutil.rmtree(place)
        second = make_engine(store="memory", engine_socket=place / "engine.sock")
    wait_until("it is said", lambda: "was removed and could not be created again, so no client can connect; another engine" in first.text())
    first.stop()
    assert answers(second)
