# SPDX-License-Identifier: MIT
"""What a reload does with settings that an engine could not work with: the one that works goes on."""

import pytest

from phones import apns_token
from sleeper import apns


def wrong(settings, name, value):
    lines = [line for line in settings.splitlines() if line.split("=")[0].strip() != name]
    return "\n".join([*lines, f"{name} = {value}", ""])


WRONG = {
    "apns_key": "/nonexistent/key.p8",
    "fcm_key": "/nonexistent/fcm.json",
    "ca_file": "/nonexistent/ca.pem",
    "engine_path": "/nonexistent/pushwake",
    "store_path": "/etc/hostname",
}


def test_settings_that_no_engine_could_work_with_change_nothing(make_asterisk, phones):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    for name, value in WRONG.items():
        asterisk.write("pushwake.conf", wrong(good, name, value))
        said = asterisk.cli("module reload res_pushwake.so")
        assert "reloaded successfully" not in said, (name, said)
        assert value in asterisk.wait_log(f"{name}: ").split(f"{name}: ")[-1], name
        assert asterisk.engine_pid() == engine, name
    # What is in force still pushes.
    phone = phones("100", asterisk.address)
    assert "+sip.pns" in phone.register(apns(apns_token())).all("Feature-Caps")[0]
    asterisk.write("pushwake.conf", good.replace("wake_timeout = 3", "wake_timeout = 4"))
    assert "done" in asterisk.cli("pushwake reload")
    asterisk.wait_engine()
    assert asterisk.engine_pid() != engine


def test_a_setting_that_no_longer_exists_is_named_with_what_to_write(make_asterisk):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    asterisk.write("pushwake.conf", wrong(good, "store_backlog", 100))
    assert "reloaded successfully" not in asterisk.cli("module reload res_pushwake.so")
    assert "no longer exists; leave it out: 10,000 REGISTERs are kept" in asterisk.wait_log("store_backlog: ")
    assert asterisk.engine_pid() == engine


@pytest.mark.parametrize("text", [None, "", "[general]\n"])
def test_a_file_that_is_gone_or_empty_at_a_reload_changes_nothing(make_asterisk, text):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    if text is None:
        (asterisk.host_at / "etc/pushwake.conf").unlink()
    else:
        asterisk.write("pushwake.conf", text)
    assert "reloaded successfully" not in asterisk.cli("module reload res_pushwake.so")
    asterisk.wait_log("pushwake.conf")
    assert asterisk.engine_pid() == engine
