# SPDX-License-Identifier: MIT
"""A dialplan that knows nothing of push, wherever Asterisk keeps contacts and whatever it does to them."""

import pathlib
import re
import socket
import sqlite3

import pytest
from conftest import ROOT
from servers import wait_until
from sleeper import Sleeper, apns, fcm
from test_plain_dial import nothing_is_left, take

PLACE = "transport=pushwake"
# The port in the URI of the place; nothing is ever sent there.
PLACE_PORT = 5099

# As printed in docs/asterisk.md.
PRINTED = re.search(r"```\n\[plain\]\n(.*?)```", (ROOT / "docs" / "asterisk.md").read_text(), re.S)[1]
DIALPLAN = "[phones]\n" + PRINTED + "exten => _each1XX,1,Dial(${PJSIP_DIAL_CONTACTS(${EXTEN:4})},40)\n"
QUEUES = "[general]\n[sales]\nstrategy = ringall\ntimeout = 15\nringinuse = no\nmember => PJSIP/100\nmember => PJSIP/101\n"
LIMITS = ["max_contacts = 5", "max_contacts = 1", "max_contacts = 1\nremove_existing = yes\nremove_unavailable = yes"]

REALTIME = """
CREATE TABLE ps_aors (id TEXT PRIMARY KEY, max_contacts TEXT, minimum_expiration TEXT);
INSERT INTO ps_aors VALUES ('100', '1', '10'), ('101', '5', '10');
"""


def in_astdb(asterisk):
    pass


def in_memory(asterisk):
    asterisk.write("sorcery.conf", "[res_pjsip]\ncontact = memory\n")


def of_realtime_aors(asterisk):
    """Contacts are in AstDB: Asterisk's driver for SQLite deletes none whose id has a semicolon."""
    asterisk.add_modules("res_config_sqlite3", "res_realtime")
    asterisk.write("sorcery.conf", "[res_pjsip]\naor = config,pjsip.conf,criteria=type=aor\naor = realtime,ps_aors\n")
    asterisk.write("extconfig.conf", "[settings]\nps_aors => sqlite3,phones,ps_aors\n")
    asterisk.write("res_config_sqlite3.conf", f"[phones]\ndbfile => {asterisk.at}/lib/phones.sqlite3\n")
    with sqlite3.connect(pathlib.Path(asterisk.host_at, "lib/phones.sqlite3")) as database:
        database.executescript(REALTIME)
    text = pathlib.Path(asterisk.host_at, "etc/pjsip.conf").read_text()
    asterisk.write("pjsip.conf", text.replace("[100]\ntype = aor", "[x100]\ntype = aor").replace("[101]\ntype = aor", "[x101]\ntype = aor"))


@pytest.fixture
def plain(make_asterisk, simulator):
    """Makes an Asterisk that is set up as it was before push; only pushwake.conf is new."""

    def make(keep=in_astdb, aor="", endpoint="", users=("100", "101"), start=True, **settings):
        made = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 10, **settings}, users=users, start=False)
        made.write("queues.conf", QUEUES)
        if aor:
            made.change("pjsip.conf", "max_contacts = 5\n", aor + "\n")
        if endpoint:
            made.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = yes\n" + endpoint + "\n")
        keep(made)
        if start:
            made.start()
            made.wait_engine()
        return made

    return make


def has_companion(asterisk, user="100"):
    return PLACE in asterisk.cli(f"pjsip show aor {user}")


def wait_companion(asterisk, user="100"):
    wait_until("a companion", lambda: has_companion(asterisk, user), 5, 0.1)


def call_and_wake(asterisk, phones, number, *sleepers):
    """A call, and these phones as they wake for it."""
    before = [len(sleeper.pushes) for sleeper in sleepers]
    call = phones("caller", asterisk.address).call(number)
    for sleeper, count in zip(sleepers, before):
        sleeper.simulator.wait_push(sleeper.token, after=count)
    return call, *(sleeper.wake() for sleeper in sleepers)


def wakes(asterisk, phones, sleeper, number="100"):
    """This call rings that phone, and they talk."""
    call, awake = call_and_wake(asterisk, phones, number, sleeper)
    take(call, awake, awake.expect_request("INVITE"))
    sleeper.fall_asleep(awake)
    nothing_is_left(asterisk)


def group_wakes(asterisk, phones, first, second):
    call, one, two = call_and_wake(asterisk, phones, "600", first, second)
    here, there = one.expect_request("INVITE"), two.expect_request("INVITE")
    one.ring(here)
    two.ring(there)
    one.answer(here)
    call.expect(200)
    cancel = two.expect_request("CANCEL")
    assert any("cause=200" in reason for reason in cancel.all("Reason"))
    two.reply(cancel, 200, "OK")
    two.reply(there, 487, "Request Terminated")
    call.end()
    one.reply(one.expect_request("BYE"), 200, "OK")
    first.fall_asleep(one)
    second.fall_asleep(two)
    nothing_is_left(asterisk)


def queue_wakes(asterisk, phones, first, second):
    call, one, two = call_and_wake(asterisk, phones, "700", first, second)
    call.expect(200)
    here, there = one.expect_request("INVITE"), two.expect_request("INVITE")
    one.ring(here)
    two.ring(there)
    two.answer(there)
    one.reply(one.expect_request("CANCEL"), 200, "OK")
    one.reply(here, 487, "Request Terminated")
    call.end()
    two.reply(two.expect_request("BYE"), 200, "OK")
    first.fall_asleep(one)
    second.fall_asleep(two)
    nothing_is_left(asterisk)


def everything_wakes(asterisk, phones, simulator):
    first = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    second = Sleeper(phones, asterisk, simulator, "101", fcm, "tcp")
    for user in ("100", "101"):
        wait_companion(asterisk, user)
    wakes(asterisk, phones, first)
    wakes(asterisk, phones, first, "each100")
    group_wakes(asterisk, phones, first, second)
    queue_wakes(asterisk, phones, first, second)


@pytest.mark.parametrize("keep", [in_astdb, in_memory, of_realtime_aors])
def test_dial_queue_and_group_wake_wherever_contacts_are_kept(plain, phones, simulator, keep):
    everything_wakes(plain(keep), phones, simulator)


@pytest.mark.parametrize("limit", LIMITS)
def test_dial_queue_and_group_wake_whatever_the_registrar_admits(plain, phones, simulator, limit):
    everything_wakes(plain(aor=limit), phones, simulator)


@pytest.mark.alone  # It takes a port that another Asterisk may have.
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_asterisk_finds_it_reachable_and_sends_nothing_out(plain, phones, simulator, transport):
    """With a transport of the endpoint's own, which is not that of the place."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket() as connections:
        for listener in (datagrams, connections):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", PLACE_PORT))
            listener.setblocking(False)
        connections.listen()
        asterisk = plain(aor="max_contacts = 1\nqualify_frequency = 1", endpoint=f"transport = {transport}")
        sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
        wait_companion(asterisk)
        wait_until("it is asked and reachable", lambda: "Avail" in shown_contact(asterisk), 5, 0.1)
        # Two more rounds of questions.
        asterisk.cli("pjsip qualify 100")
        wait_until("it stays reachable", lambda: "Avail" in shown_contact(asterisk), 5, 0.1)
        assert state(asterisk) == "NOT_INUSE"
        wakes(asterisk, phones, sleeper)
        with pytest.raises(BlockingIOError):
            datagrams.recv(2000)
        with pytest.raises(BlockingIOError):
            connections.accept()


def shown_contact(asterisk):
    return next((line for line in asterisk.cli("pjsip show contacts").splitlines() if PLACE in line), "")


def state(asterisk, user="100"):
    return asterisk.cli(f"dialplan eval function DEVICE_STATE(PJSIP/{user})").split("Result:")[-1].split()[0]


def test_the_console_says_what_it_is(plain, phones, simulator):
    asterisk = plain()
    Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    assert "waits for a push" in asterisk.cli("pjsip show contact 100/" + shown_contact(asterisk).split("/", 1)[1].split()[0])


@pytest.mark.parametrize("command", [
    "pjsip reload", "module reload res_pjsip.so", "module reload res_pushwake.so", "module reload", "dialplan reload", "core reload"])
def test_it_survives(plain, phones, simulator, command):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    asterisk.cli(command)
    asterisk.wait_engine()
    wait_companion(asterisk)
    wakes(asterisk, phones, sleeper)


def remove_by_console(asterisk, phones, sleeper):
    asterisk.cli("pushwake remove bindings 100")


def log_out(asterisk, phones, sleeper):
    phone = sleeper.wake()
    assert phone.register(expires=0).status == 200
    phone.close()


def stop_pushing(asterisk, phones, sleeper):
    """The phone registers without a token, and leaves."""
    phone = phones("100", asterisk.address, "tcp")
    phone.instance = sleeper.instance
    assert phone.register().status == 200
    assert phone.register(expires=0).status == 200
    phone.close()


@pytest.mark.parametrize("remove", [remove_by_console, log_out, stop_pushing])
def test_it_goes_with_the_binding(plain, phones, simulator, remove):
    asterisk = plain(unregister_policy="remove", remove_at_nopn=1)
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    remove(asterisk, phones, sleeper)
    wait_until("no companion", lambda: not has_companion(asterisk), 5, 0.1)
    assert state(asterisk) == "UNAVAILABLE"


@pytest.mark.parametrize("leave", [log_out, stop_pushing])
def test_it_stays_with_a_binding_that_outlives_the_registration(plain, phones, simulator, leave):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    leave(asterisk, phones, sleeper)
    wait_companion(asterisk)
    wakes(asterisk, phones, sleeper)


def test_a_binding_that_was_removed_elsewhere_is_found_out_by_the_next_call(plain, phones, simulator):
    asterisk = plain()
    Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    done = asterisk.pushwake("bindings", "remove", "100")
    assert done.returncode == 0, done.stderr
    phones("caller", asterisk.address).call("100").expect_final(480)
    wait_until("no companion", lambda: not has_companion(asterisk), 5, 0.1)


def test_it_is_there_after_a_restart_and_not_without_the_module(plain, phones, simulator):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    asterisk.stop()
    asterisk.start()
    asterisk.wait_engine()
    wait_companion(asterisk)
    wakes(asterisk, phones, sleeper)
    wait_until("nothing holds the module", lambda: "Unloaded" in asterisk.cli("module unload res_pushwake.so"), 40, 1)
    assert not has_companion(asterisk)


def test_a_companion_that_was_left_behind_is_gone_after_a_start_without_the_module(plain, phones, simulator):
    asterisk = plain()
    Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    asterisk.process.kill()
    asterisk.stop()
    asterisk.write("modules.conf", "[modules]\nautoload = yes\nnoload = res_pushwake.so\n")
    asterisk.start()
    assert not has_companion(asterisk)


def test_a_mailbox_wakes_nobody_and_its_notice_reaches_the_phone_when_it_wakes(plain, phones, simulator):
    asterisk = plain(endpoint="mailboxes = 100@default", users=["100"], start=False)
    asterisk.add_modules("app_voicemail", "res_pjsip_mwi", "res_pjsip_mwi_body_generator", "res_mwi_external")
    asterisk.write("modules.conf", "[modules]\nautoload = yes\nnoload = res_mwi_external.so\n")
    asterisk.write("voicemail.conf", "[general]\nformat = wav\npollmailboxes = yes\npollfreq = 1\n[default]\n100 => 1234,Sleeper\n")
    asterisk.start()
    asterisk.wait_engine()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wait_companion(asterisk)
    inbox = asterisk.host_at / "spool/voicemail/default/100/INBOX"
    inbox.mkdir(parents=True)
    (inbox / "msg0000.txt").write_text("[message]\norigmailbox=100\n")
    (inbox / "msg0000.wav").write_bytes(b"")
    wait_until("the mailbox has a message", lambda: " 1" in asterisk.cli("voicemail show users"), 5, 0.2)
    awake = sleeper.wake()
    awake.expect(lambda message: message.method == "NOTIFY" and "Messages-Waiting: yes" in message.body)
    assert sleeper.pushes == []


def test_a_phone_that_wakes_too_late_is_shown_the_end(plain, phones, simulator):
    asterisk = plain()
    sleeper = Sleeper(phones, asterisk, simulator, "100", apns, "tcp")
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(sleeper.token)
    call.cancel()
    awake = sleeper.wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    cancel = awake.expect_request("CANCEL")
    awake.reply(cancel, 200, "OK")
    awake.reply(invite, 487, "Request Terminated")


def test_many_phones_that_come_and_go_at_once(plain, phones, simulator):
    """Each time the companion waits until the registrar is done."""
    users = [str(number) for number in range(100, 110)]
    asterisk = plain(users=users)
    sleepers = [Sleeper(phones, asterisk, simulator, user, fcm, "tcp") for user in users]
    for _ in range(3):
        for awake in [sleeper.wake() for sleeper in sleepers]:
            awake.close()
    for user in users:
        wait_companion(asterisk, user)
    wakes(asterisk, phones, sleepers[0])


def test_each_call_has_one_record(plain, phones, simulator):
    asterisk = plain(users=["100"], start=False, wake_timeout=3)
    asterisk.add_modules("cdr_csv")
    asterisk.write("cdr.conf", "[general]\nenable = yes\nunanswered = yes\n[csv]\nusegmtime = yes\n")
    (asterisk.host_at / "log/cdr-csv").mkdir()
    asterisk.start()
    asterisk.wait_engine()
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm, "tcp")
    wakes(asterisk, phones, sleeper)
    phones("caller", asterisk.address).call("100").final(8)
    nothing_is_left(asterisk)
    path = asterisk.host_at / "log/cdr-csv/Master.csv"
    wait_until("two records", lambda: path.exists() and len(path.read_text().splitlines()) > 1)
    records = path.read_text().splitlines()
    assert ["ANSWERED" in record for record in records] == [True, False], records


@pytest.mark.parametrize("attempt", range(6))
def test_a_phone_that_is_there_and_whose_push_fails_rings_once(plain_phone, phones, attempt):
    """It answers OPTIONS as its provider refuses the token."""
    asterisk, phone = plain_phone
    call = phones("caller", asterisk.address).call("100")
    invite = phone.expect_request("INVITE")
    phone.ring(invite)
    assert phone.gets_nothing("INVITE", 0.3)
    phone.answer(invite)
    call.expect(200)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")


@pytest.fixture(scope="module")
def refusing(make_session_asterisk):
    made = make_session_asterisk("refusing", extensions=DIALPLAN, settings={"wait": "leg"}, users=["100"])
    yield made
    made.stop()


@pytest.fixture
def plain_phone(refusing, phones):
    """A phone over UDP that is awake, and whose token no provider takes."""
    phone = phones("100", refusing.address)
    assert phone.register(fcm("expired-" + phone.tag)).status == 200
    yield refusing, phone
    phone.register(expires=0)
