# SPDX-License-Identifier: MIT
"""Registrations that a gateway keeps while the phones sleep."""

import os
import pathlib
import re
import signal
import subprocess
import time

from peers.upstream import (REALM, contacts, expires, ha1, make_gateway, make_registrar, name_server, piid, register, sent,
                            wait_sent)
from phones import no_push, rfc8599_fcm
from servers import wait_until


def make_phone(wire, gateway, user, push=None, **options):
    return wire.phone(gateway, user, "udp", push or rfc8599_fcm(), domain=REALM, **options)


def refreshed(registrar, user):
    """REGISTERs with which the gateway showed by itself who it is."""
    return [row for row in sent(registrar, user) if "c0ffee" not in row[4] and row[4].startswith("Digest")]


def test_a_sleeping_phone_stays_registered(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=4)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4)
    phone = make_phone(wire, gateway, "201")
    assert register(phone, 600, piid(phone)).status == 200
    phone.sleep()
    end = time.monotonic() + 14
    while time.monotonic() < end:
        assert contacts(registrar, "201"), "it was lost"
        time.sleep(0.2)
    own = refreshed(registrar, "201")
    assert len(own) >= 3
    # One nonce for several refreshes, counted.
    counts = [re.search(r"nc=(\w+)", row[4]).group(1) for row in own]
    assert "00000002" in counts, counts
    assert len({row[1] for row in sent(registrar, "201")}) == 1, "one Call-ID"
    # The server calls, the phone is woken.
    wire.call(registrar, "201")
    simulator.wait_push(phone.push.token, seconds=10)


def test_a_nonce_that_is_too_old_is_replaced(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=4, nonce=2)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4)
    phone = make_phone(wire, gateway, "202")
    assert register(phone, 600, piid(phone)).status == 200
    wait_until("six refreshes", lambda: len(refreshed(registrar, "202")) >= 6, 30)
    assert contacts(registrar, "202")
    assert len(set(re.findall(r'nonce="([^"]+)"', str(refreshed(registrar, "202"))))) > 1


def test_an_engine_that_dies_loses_no_registration(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "203")
    assert register(phone, 600, piid(phone)).status == 200
    os.kill(gateway.engine_pid(), signal.SIGKILL)
    before = len(sent(registrar, "203"))
    wait_sent(registrar, "203", before + 1, 15)
    assert contacts(registrar, "203")
    numbers = [row[2] for row in sent(registrar, "203")]
    assert numbers == sorted(set(numbers)), "the CSeq goes on"
    assert len({row[1] for row in sent(registrar, "203")}) == 1, "the Call-ID too"


def test_a_gateway_that_is_restarted_goes_on(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=8)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=8)
    phone = make_phone(wire, gateway, "204")
    assert register(phone, 600, piid(phone)).status == 200
    gateway.kill()
    gateway.start().wait_engine()
    name_server(gateway, registrar)
    before = len(sent(registrar, "204"))
    wait_sent(registrar, "204", before + 1, 15)
    assert contacts(registrar, "204")
    wire.call(registrar, "204")
    simulator.wait_push(phone.push.token, seconds=10)


def test_a_server_that_was_away_has_them_back(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=4)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4)
    phones = [make_phone(wire, gateway, f"21{n}") for n in range(5)]
    for phone in phones:
        assert register(phone, 600, piid(phone)).status == 200
    registrar.kill()
    time.sleep(9)  # two intervals
    registrar.start()
    wait_until("all are back", lambda: all(contacts(registrar, phone.user) for phone in phones), 60)


def test_a_changed_password_wakes_the_phone(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "205")
    # HA1 of another realm: the server took the phone's own answer, and will not take this.
    assert register(phone, 600, piid(phone, "old")).status == 200
    push = simulator.wait_push(phone.push.token, seconds=15)
    assert push["body"]["message"]["data"]["event"] == "refresh"
    gateway.wait_log("the SIP server refuses gw-205_40pbx.example.com")
    assert register(phone, 600, piid(phone)).status == 200
    before = len(refreshed(registrar, "205"))
    wait_until("it is kept", lambda: len(refreshed(registrar, "205")) > before, 15)


def test_a_user_whom_the_server_refuses_for_good_loses_the_binding(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "206")
    assert register(phone, 600, piid(phone, "old")).status == 200
    gateway.wait_log("the upstream registration ended", "206", seconds=20)
    listing = gateway.rpc("pushwake.list", f"s:206@{REALM}") or ""
    assert "the upstream registration ended" in listing, "it stays listed with its reason"


def test_without_x_piid_the_phone_is_woken_in_time(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "207")
    assert register(phone, 600).status == 200
    push = simulator.wait_push(phone.push.token, seconds=10)
    assert push["body"]["message"]["data"]["event"] == "refresh"
    assert contacts(registrar, "207"), "before the end"
    assert register(phone, 600).status == 200
    assert expires(registrar, "207") > 3


def test_reg_refresh_2_takes_the_binding_of_a_phone_that_does_not_come(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=4)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4, reg_refresh=2)
    phone = make_phone(wire, gateway, "208")
    assert register(phone, 600).status == 200
    simulator.wait_push(phone.push.token, seconds=10)
    gateway.wait_log("its push bindings are removed", seconds=10)


def test_an_account_whose_bindings_are_removed_by_hand_is_ended_at_once(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "209")
    assert register(phone, 600, piid(phone)).status == 200
    gateway.rpc("pushwake.remove", f"s:209@{REALM}")
    wait_until("an un-REGISTER", lambda: [row for row in sent(registrar, "209") if row[0] == 0])
    wait_until("it is gone", lambda: not contacts(registrar, "209"))


def test_keep_upper_reg_0_leaves_it_to_the_phone(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=90)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, keep_upper_reg=0)
    phone = make_phone(wire, gateway, "210")
    assert "expires=90" in register(phone, 600, piid(phone)).headers("Contact")[0]
    assert register(phone, 0, piid(phone)).status == 200
    assert not contacts(registrar, "210"), "although it could be woken"


def test_the_secret_is_nowhere(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=4)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4, log_level="debug")
    phone = make_phone(wire, gateway, "211")
    assert register(phone, 600, piid(phone)).status == 200
    wait_until("a refresh", lambda: refreshed(registrar, "211"), 10)
    secret = ha1("211")
    assert secret not in gateway.log_text()
    for path in pathlib.Path(tmp_path).glob("upstream.db*"):
        assert secret.encode() not in path.read_bytes(), path
        assert bytes.fromhex(secret) not in path.read_bytes(), path
        assert oct(path.stat().st_mode)[-3:] == "600"
    for command in (["pushwake.stats"], ["pushwake.list", f"s:211@{REALM}"], ["pushwake.show", f"s:211@{REALM}"]):
        assert secret not in (gateway.rpc(*command) or "")
    # The kernel writes no core of a process that is not dumpable, and nobody but root may look into it.
    look = ["setpriv", "--reuid", "0", "--bounding-set=-all", "--inh-caps=-all", "cat", f"/proc/{gateway.engine_pid()}/maps"]
    assert subprocess.run(look, capture_output=True, check=False).returncode != 0


def test_a_second_line_of_the_key_file_reads_what_it_sealed(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "212")
    assert register(phone, 600, piid(phone)).status == 200
    (tmp_path / "secret.key").write_text("a1" * 32 + "\n" + "5f" * 32 + "\n")
    os.kill(gateway.engine_pid(), signal.SIGKILL)
    before = len(refreshed(registrar, "212"))
    wait_until("it goes on", lambda: len(refreshed(registrar, "212")) > before, 15)
    # It was sealed anew: the old key may go.
    (tmp_path / "secret.key").write_text("a1" * 32 + "\n")
    os.kill(gateway.engine_pid(), signal.SIGKILL)
    before = len(refreshed(registrar, "212"))
    wait_until("it goes on", lambda: len(refreshed(registrar, "212")) > before, 15)


def test_without_a_key_nothing_is_kept(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6, secret_key_file="")
    phone = make_phone(wire, gateway, "213")
    assert register(phone, 600, piid(phone)).status == 200
    gateway.wait_log("X-PIID is not kept: set secret_key_file")
    simulator.wait_push(phone.push.token, seconds=10)
    assert not refreshed(registrar, "213")


def test_a_phone_without_push_is_kept_for_as_long_as_it_is_registered(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=4)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=4)
    phone = make_phone(wire, gateway, "214", no_push())
    assert register(phone, 8, piid(phone)).status == 200
    wait_until("it is kept", lambda: refreshed(registrar, "214"), 10)
    wait_until("and given up", lambda: not contacts(registrar, "214"), 20)


def test_a_stranger_changes_nothing_of_an_account(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=6)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6,
                           upper_servers=f"{REALM},127.0.0.1:9")
    phone = make_phone(wire, gateway, "215")
    assert register(phone, 600, piid(phone)).status == 200
    stranger = make_phone(wire, gateway, "215")
    bad = 'Authorization: Digest username="evil", realm="x", nonce="y", uri="sip:z", response="0"'
    assert register(stranger, 0, bad, "X-PIID: " + "0" * 32, password="wrong").status == 401
    number = stranger.send_register(600, None, "X-Sy.Upperproxy: 127.0.0.1:9")
    before = len(refreshed(registrar, "215"))
    wait_until("two refreshes", lambda: len(refreshed(registrar, "215")) >= before + 2, 60)
    assert all('username="215"' in row[4] for row in refreshed(registrar, "215") if "evil" not in row[4])
    assert contacts(registrar, "215")
    assert number
