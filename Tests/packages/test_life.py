# SPDX-License-Identifier: MIT
"""From `apt install` to a ringing phone, through an upgrade, to purge: one Debian, in this order."""

import os
import re
import shutil
import stat
import subprocess
import time

import pytest

from debian import DOMAIN, ENVIRONMENT, PUSHWAKE_PACKAGES, PackagedKamailio, Repository, ServiceManager
from phones import rfc8599_fcm
from servers import ROOT, wait_until


@pytest.fixture(scope="module")
def host(debian, place, simulator):
    """What the tests of this file share."""
    class Host:
        kamailio = None
        before = None
        sleeper = None

        def start(self, **settings):
            self.kamailio = PackagedKamailio(debian, place, simulator, **settings)
            self.kamailio.start().wait_engine()

    made = Host()
    yield made
    if made.kamailio:
        made.kamailio.stop()


def rings(kamailio, wire, simulator, phone=None, user="2000", meanwhile=lambda: None):
    """A phone sleeps, is called, is pushed, wakes and answers; returns it. `meanwhile` happens while the call is held."""
    if phone is None:
        phone = wire.phone(kamailio, user, rfc8599_fcm())
        assert "+sip.pns" in phone.register().headers("Feature-Caps")[0]
    phone.sleep()
    seen = len([event for event in simulator.events(phone.push.token) if event == "call"])
    call = wire.caller(kamailio).call(phone.user, domain=DOMAIN)
    simulator.wait_event(phone.push.token, "call", after=seen)
    meanwhile()
    phone.server = kamailio
    awake = wire.again(phone)
    awake.register()
    awake.wait_request("INVITE")
    assert call.wait_status(200)
    awake.wait_request("ACK")
    call.hang_up()
    awake.wait_request("BYE")
    return awake


def page(name="install"):
    """The commands of a manual, a text for each step."""
    return re.findall(r"```sh\n(.*?)```", (ROOT / f"docs/{name}.md").read_text(), re.S)


def follow(debian, commands):
    """Does in a Debian without systemd and sudo what the page says."""
    for name, text in (("sudo", 'exec "$@"'), ("systemctl", 'echo "$@" >> /root/systemctl')):
        (debian / f"usr/local/bin/{name}").write_text(f"#!/bin/sh\n{text}\n")
        (debian / f"usr/local/bin/{name}").chmod(0o755)
    path = "/usr/local/bin:" + ENVIRONMENT["PATH"]
    commands = re.sub(r"\bapt (update|upgrade|install|remove)\b", r"apt-get -qy \1", commands)
    return debian.run("sh", "-ec", f"cd /root\n{commands}", PATH=path)


def test_apt_installs_them_from_a_repository_and_starts_nothing(debian, repository, stopwatch):
    begin = time.monotonic()
    follow(debian, page()[0].replace("https://packages.example.org/pushwake", repository.address))
    follow(debian, page()[1])
    stopwatch(debian.suite, "apt install, Kamailio and its download included", time.monotonic() - begin)
    assert [state for state, _ in debian.versions().values()] == ["ii"] * 3
    assert debian.processes() == []
    for tool in ("cc", "gcc", "swift", "make"):
        assert debian.run("sh", "-c", f"command -v {tool}", check=False).returncode != 0, f"{tool} is not to be there"


def test_the_module_is_for_exactly_this_kamailio(debian, packages):
    version = re.match(r"[0-9.]+[0-9]", debian.run("dpkg-query", "-W", "-f", "${Version}", "kamailio").stdout)[0]
    parts = version.split(".")
    after = ".".join([*parts[:-1], str(int(parts[-1]) + 1)])
    depends = debian.run("dpkg-query", "-W", "-f", "${Depends}", "kamailio-pushwake-module").stdout
    assert f"kamailio (>= {version}), kamailio (<< {after}~)" in depends


def test_directories_are_for_those_who_run_an_engine(debian):
    group = int(debian.run("getent", "group", "pushwake").stdout.split(":")[2])
    for path, mode in (("/etc/pushwake", 0o750), ("/run/pushwake", 0o2771), ("/var/lib/pushwake", 0o2770)):
        found = os.stat(debian / path)
        assert stat.S_IMODE(found.st_mode) == mode, path
        assert found.st_gid == group, path
    assert "pushwake" in debian.run("id", "-nG", "kamailio").stdout.split()


def test_completions_and_the_manual_are_there(debian):
    debian.run("bash", "-n", "/usr/share/bash-completion/completions/pushwake")
    for path in ("zsh/vendor-completions/_pushwake", "fish/vendor_completions.d/pushwake.fish"):
        assert "pushwake" in (debian / f"usr/share/{path}").read_text()
    # minbase leaves manuals out only where its configuration of dpkg says so.
    listed = debian.run("dpkg", "-L", "pushwake").stdout
    groups = debian.run("pushwake", "--help").stdout.partition("SUBCOMMANDS:")[2]
    commands = re.findall(r"^  ([a-z]+) ", groups, re.M)
    assert len(commands) > 10
    for command in commands:
        assert f"/usr/share/man/man1/pushwake-{command}.1.gz" in listed


def test_keys_and_configuration_as_the_page_has_them(debian, simulator, stopwatch):
    for setting, name in (("apns_key", "AuthKey_ABC123DEFG.p8"), ("fcm_key", "service-account.json")):
        shutil.copy(simulator.settings()[setting], debian / "root" / name)
    begin = time.monotonic()
    follow(debian, page()[2])
    said = follow(debian, page()[3]).stdout
    stopwatch(debian.suite, "keys, kamailio.cfg, pushwake check", time.monotonic() - begin)
    assert "all is well for user kamailio" in said
    assert (debian / "root/systemctl").read_text() == "restart kamailio\n"
    before = (debian / "etc/kamailio/kamailio.cfg.before").read_text().splitlines()
    after = (debian / "etc/kamailio/kamailio.cfg").read_text().splitlines()
    assert 9 <= len(set(after) - set(before)) <= 20, "nothing but what the page lists"


def test_the_call_rings_with_kamailios_own_configuration(debian, host, wire, simulator, stopwatch):
    begin = time.monotonic()
    host.start()
    stopwatch(debian.suite, "start of Kamailio until the engine answers", time.monotonic() - begin)
    begin = time.monotonic()
    host.sleeper = rings(host.kamailio, wire, simulator)
    stopwatch(debian.suite, "a phone registers, sleeps, is called and pushed, wakes, answers", time.monotonic() - begin)
    assert (debian / "var/lib/pushwake/bindings.db").exists()
    said = follow(debian, page()[4]).stdout
    assert host.sleeper.user in said and "answered" in said


def test_check_finds_nothing_wrong(debian, host):
    done = debian.run("pushwake", "check", "/etc/kamailio/kamailio.cfg", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "for user kamailio" in done.stdout


def test_a_repository_that_somebody_has_changed_is_refused(debian, repository, packages, tmp_path):
    other = Repository(tmp_path, debian.suite)
    other.add(packages)
    other.stop()
    release = repository.folder / f"dists/{debian.suite}/InRelease"
    before = release.read_text()
    for changed in ((other.folder / f"dists/{debian.suite}/InRelease").read_text(), before.replace("Origin: PushWake", "Origin: Somebody")):
        release.write_text(changed)
        os.utime(release, (time.time() + 60, time.time() + 60))
        done = debian.run("apt-get", "update", check=False)
        assert repository.address in done.stdout + done.stderr
        assert re.search(r"^[EW]: .*(NO_PUBKEY|BADSIG|signature|not signed)", done.stdout + done.stderr, re.M), done.stdout + done.stderr
    release.write_text(before)
    debian.run("apt-get", "update")


def test_a_package_in_the_folder_is_never_replaced(debian, repository, packages, tmp_path):
    name = packages["libpushwake1"].name
    (tmp_path / name).write_bytes(packages["pushwake"].read_bytes())
    done = subprocess.run([repository.script, repository.folder, f"{debian.suite}={tmp_path}"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"{name} is there already and is another one" in done.stderr


def test_an_upgrade_disturbs_no_kamailio_that_runs(debian, host, repository, newer_packages, wire, simulator):
    host.kamailio.stop()
    host.start(wake_timeout=120)
    workers = host.kamailio.pids()
    repository.add(newer_packages)
    # With a call that is held.
    host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper, meanwhile=lambda: follow(debian, page("upgrading")[0]))
    assert {version[0] for _, version in debian.versions().values()} == {"9"}
    assert host.kamailio.pids() == workers
    host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)
    host.kamailio.stop()
    host.start()
    # Its binding is from before the upgrade.
    host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)


def test_a_downgrade_is_refused_and_breaks_nothing(debian, host, packages, wire, simulator):
    before = debian.versions()
    done = debian.install(packages, check=False)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "is older: it would not know what the newer one has stored" in said
    assert "apt remove the packages of PushWake" in said
    assert debian.versions() == before
    # Triggers of other packages may still wait for the next run.
    debian.run("dpkg", "--configure", "-a")
    assert debian.run("dpkg", "--audit").stdout == ""
    debian.run("apt-get", "check")
    host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)


def test_going_back_keeps_settings_and_bindings(debian, host, packages, wire, simulator):
    version = subprocess.run(["dpkg-deb", "-f", packages["pushwake"], "Version"], capture_output=True, text=True, check=True).stdout.strip()
    host.kamailio.stop()
    follow(debian, re.sub("OLD=.*", f"OLD={version}", page("upgrading")[1]))
    assert {installed for _, installed in debian.versions().values()} == {version}
    host.start()
    host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)


def test_one_engine_for_all_runs_as_its_unit_says(debian, host, place, newer_packages, wire, simulator):
    host.kamailio.stop()
    # What docs/running.md says about changing to it.
    debian.run("chown", "-R", "pushwake:", "/var/lib/pushwake")
    settings = {**host.kamailio.settings, "wake_timeout": 10}
    (debian / "etc/pushwake/pushwake.conf").write_text(
        "".join(f"{name} = {value}\n" for name, value in settings.items() if value is not None))
    manager = ServiceManager(debian, place).start()
    try:
        host.start(engine_mode="external")
        host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)
        assert wait_until("a sign of life", lambda: manager.hear() == "WATCHDOG=1")
        # An upgrade replaces the program under it; what the restart of the unit then starts takes over.
        debian.install(newer_packages)
        host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)
        assert "STOPPING=1" in manager.stop()
        manager.start()
        wait_until("Kamailio has the new engine", lambda: host.kamailio.rpc("pushwake.stats") is not None)
        host.sleeper = rings(host.kamailio, wire, simulator, host.sleeper)
    finally:
        manager.stop()
        host.kamailio.stop()


def test_a_wrong_setting_is_named_and_not_tried_again(debian, place):
    (debian / "etc/pushwake/pushwake.conf").write_text("no_such_setting = 1\n")
    manager = ServiceManager(debian, place)
    with pytest.raises((AssertionError, TimeoutError)):
        manager.socket.settimeout(2)
        manager.start()
    assert manager.process.wait(10) == int(manager.unit["RestartPreventExitStatus"])
    assert "no_such_setting" in manager.log.read_text()


def test_without_the_repository_they_stay_and_work(debian, host, repository):
    follow(debian, page("upgrading")[2])
    assert repository.address not in debian.run("apt-cache", "policy").stdout
    assert [state for state, _ in debian.versions().values()] == ["ii"] * 3
    assert "error" not in debian.run("pushwake", "check", "/etc/kamailio/kamailio.cfg", check=False).stdout


def test_remove_keeps_settings_and_bindings(debian, host):
    debian.run("apt-get", "remove", "-y", *PUSHWAKE_PACKAGES)
    assert (debian / "var/lib/pushwake/bindings.db").exists()
    assert (debian / "etc/pushwake/pushwake.conf").exists()
    assert not (debian / "usr/bin/pushwake").exists()
    debian.run("cp", "/etc/kamailio/kamailio.cfg.before", "/etc/kamailio/kamailio.cfg")
    debian.run("kamailio", "-c", "-f", "/etc/kamailio/kamailio.cfg")


def test_purge_leaves_nothing(debian):
    debian.run("apt-get", "purge", "-y", *PUSHWAKE_PACKAGES)
    (debian / "root/kamailio.cfg.new").unlink()
    assert debian.versions() == {}
    left = [path for path in debian.files() if "pushwake" in path]
    assert left == ["/etc/kamailio/pushwake.cfg"], "what the administrator has written"
    assert not debian.account("pushwake")
    assert "pushwake" not in debian.run("id", "-nG", "kamailio").stdout


def test_what_was_never_started_leaves_no_file_at_all(debian, packages):
    before = debian.files()
    debian.install(packages)
    assert debian.account("pushwake")
    debian.run("apt-get", "purge", "-y", *PUSHWAKE_PACKAGES)
    assert debian.files() == before
    assert not debian.account("pushwake")
