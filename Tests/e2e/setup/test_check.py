# SPDX-License-Identifier: MIT
"""`pushwake check`: each usual mistake is named, with its line, and nothing is said of what is right."""

import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import tempfile

import pytest

from servers import PUSHWAKE, ROOT

MISTAKES = {
    "a group that is not there": ({"engine_socket_group": "nosuchgroup"}, "engine_socket_group", "there is no group nosuchgroup"),
    "key id": ({"apns_key_id": "ZZZ123DEFG"}, "apns_key_id", "is named after key"),
    "small letters": ({"apns_team_id": "def123ghij"}, "apns_team_id", "write DEF123GHIJ"),
    "twice": ({"wake_timeout": "3\nwake_timeout = 4"}, "wake_timeout", "already"),
    "no app": ({"fcm_key1": "@fcm_key@"}, "fcm_key1", "fcm_app1 is missing"),
    "same app": ({"fcm_app1": "com.example", "fcm_key1": "@fcm_key@", "fcm_app2": "com.example", "fcm_key2": "@fcm_key@"},
                 "fcm_app2", "is fcm_app1 already"),
    "socket directory": ({"engine_socket": "/nonexistent/pushwake/engine.sock"}, "engine_socket", "/nonexistent/pushwake is missing"),
    "store directory": ({"store_path": "/nonexistent/pushwake/b.db"}, "store_path", "/nonexistent/pushwake is missing"),
    "store is a directory": ({"store_path": "@here@"}, "store_path", "is a directory"),
    "store is a text": ({"store_path": "@here@/notes.txt"}, "store_path", "is not an SQLite database"),
    "engine path": ({"engine_path": "/nonexistent/pushwake"}, "engine_path", "/nonexistent/pushwake is not a program"),
    "engine name": ({"engine_path": "pushwaker"}, "engine_path", "there is no pushwaker"),
    "port in use": ({"fastagi_listen": "127.0.0.1:@port@"}, "fastagi_listen", "Address already in use"),
    "open key": ({"apns_key": "@here@/open/AuthKey_@key_id@.p8"}, "apns_key", "everybody can read"),
    "a user without a password": ({"store": "redis://pushwake@127.0.0.1:6379"}, "store", "set store_password_file too"),
    "badge the other way round": ({"no-badge": "1"}, "no-badge", "here it is called badge (true: 0; false: 1)"),
    "Apple's root": ({"apns_url": None, "apns_sandbox_url": None}, "ca_file", "USERTrust RSA"),
    "a $name": ({"webhook_url": "https://push.example.com/wake?to=$token&call=$callid"}, "webhook_url", "$callid is not a keyword and goes out as it is; write one of $type, $token"),
    "single quotes": ({"apns_key": "'/etc/pushwake/AuthKey_@key_id@.p8'"}, "apns_key", "the single quotes are part of the value"),
    "single quotes around an app": ({"fcm_app1": "'com.example'", "fcm_key1": "@fcm_key@"}, "fcm_app1", "the single quotes are part"),
    "a key from the directory in use": ({"apns_key": "AuthKey_@key_id@.p8"}, "apns_key", "is no whole path"),
    "an account from there": ({"fcm_app1": "com.example", "fcm_key1": "keys/one.json"}, "fcm_key1", "is no whole path"),
    "store is a pipe": ({"store_path": "@here@/pipe"}, "store_path", "pipe is not a regular file; move it away, or set store_path to another place"),
    "a directory beside the store": ({"store_path": "@here@/old.db"}, "store_path", "old.db-wal is not a regular file; move it away"),
    "registrations are a text": ({"upper_servers": "pbx.example.com", "store_path": "@here@/text/b.db"}, "store_path",
                                 "text/upstream.db is not an SQLite database"),
    "registrations are a directory": ({"upper_servers": "pbx.example.com", "store_path": "@here@/directory/b.db"}, "store_path",
                                      "directory/upstream.db is a directory, and a gateway keeps a file there; move it away"),
    "no topic with a key": ({"apns_topic": "null"}, "apns_topic", "MissingTopic"),
    "a topic without its ending": ({"apns_topic": "packagename"}, "apns_topic", "DeviceTokenNotForTopic"),
    "a proxy over TLS": ({"http_proxy": "https://proxy.example.com:3128"}, "http_proxy", "https proxies are not supported"),
    "a SOCKS proxy": ({"http_proxy": "socks5://127.0.0.1:1080"}, "http_proxy", "socks5 proxies are not supported"),
    "a sender at this machine": ({"vapid_key": "@vapid_key@", "vapid_subject": "mailto:ops@localhost"}, "vapid_subject", "with your own domain"),
    "a sender's page at this machine": ({"vapid_key": "@vapid_key@", "vapid_subject": "https://localhost"}, "vapid_subject", "with your own domain"),
    "a sender without a domain": ({"vapid_key": "@vapid_key@", "vapid_subject": "mailto:ops"}, "vapid_subject", "with your own domain"),
    "a sender at an address": ({"vapid_key": "@vapid_key@", "vapid_subject": "mailto:ops@192.0.2.1"}, "vapid_subject", "with your own domain"),
    "nobody serves the store": ({"store": "redis://127.0.0.1:9"}, "store", "nobody serves 127.0.0.1:9"),
    "no socket of the store": ({"store": "unix:///nonexistent/valkey.sock"}, "store", "there is no socket"),
    "a realm that the file does not have": ({"http_listen": "8088", "http_users": "@here@/users", "http_operators": "alice", "http_realm": "pbx"},
                                            "http_realm", "set http_realm = sip.example.com"),
    "an operator who is nobody": ({"http_listen": "8088", "http_users": "@here@/users", "http_operators": "bob", "http_realm": "sip.example.com"},
                                  "http_operators", "http_users has no bob"),
    "a directory that everybody may write to": ({"apns_key": "@here@/shared/AuthKey_@key_id@.p8"}, "apns_key", "everybody can replace files in"),
    "a sandbox": ({"apns_url": "https://api.sandbox.push.apple.com"}, "apns_url", "BadDeviceToken"),
    "a team": ({"apns_topic": "DEF123GHIJ.com.example.phone"}, "apns_topic", "write com.example.phone, or leave apns_topic empty"),
    "a topic of calls alone": ({"apns_topic": "com.example.phone.voip"}, "apns_topic", "leave apns_topic empty"),
    "no calls": ({"wake_requests": "MESSAGE"}, "wake_requests", "add INVITE"),
    "a short wait": ({"wake_timeout": 3}, "wake_timeout", "write 20 or more"),
    "one phone": ({"bindings_per_user": 1}, "bindings_per_user", "write 4 or more"),
    "a key of another service": ({"fcm_key": "@here@/open/AuthKey_@key_id@.p8"}, "fcm_key", "is not JSON but PEM, as the keys of apns_key"),
    "the other key": ({"apns_key": "@fcm_key@"}, "apns_key", "it is JSON, as the keys of fcm_key"),
    "keyword": ({"template_dir": "@here@/templates"}, "template_dir", "fcm.json:1:51: <from-usr> is not a keyword and goes out as it stands; did you mean <from-user>?"),
}  # fmt: skip


@pytest.fixture
def settings(tmp_path, simulator):
    """Writes a settings file that is right but for what is given."""
    made = simulator.settings()
    (tmp_path / "notes.txt").write_text("no database")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/upstream.db").write_text("no database")
    (tmp_path / "directory/upstream.db").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "old.db").touch()
    (tmp_path / "old.db-wal").mkdir()
    (tmp_path / "open").mkdir()
    key = shutil.copy(made["apns_key"], tmp_path / "open")
    os.chmod(key, 0o644)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    os.chmod(shutil.copy(made["apns_key"], tmp_path / "shared"), 0o600)
    (tmp_path / "users").write_text("alice:sip.example.com:" + "0" * 32 + "\n")
    (tmp_path / "users").chmod(0o600)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/fcm.json").write_text('{"message": {"token": "TOKEN", "data": {"who": "x <from-usr>", "a": "<date>"}}}')
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    known = {"@here@": tmp_path, "@fcm_key@": made["fcm_key"],
             "@vapid_key@": simulator.directory / "files" / "vapid.pem", "@port@": listener.getsockname()[1], "@key_id@": made["apns_key_id"]}

    def write(changes):
        rows = {"engine_socket": tmp_path / "engine.sock", "store_path": tmp_path / "b.db", **made, **changes}
        text = "".join(f"{name} = {value}\n" for name, value in rows.items() if value is not None)
        for name, value in known.items():
            text = text.replace(name, str(value))
        path = tmp_path / "pushwake.conf"
        path.write_text(text)
        return path

    yield write
    listener.close()


def test_a_file_in_utf_16_is_named_in_one_line(settings):
    path = settings({})
    path.write_text(path.read_text(), encoding="utf-16")
    said = [line for line in check(path).stdout.splitlines() if "error" in line]
    assert said == [f"{path}:1: error: the file: it is UTF-16, as Windows writes it; save it as UTF-8"]


def check(path, *arguments):
    return subprocess.run([PUSHWAKE, "check", path, "--user", "root" if os.geteuid() == 0 else os.environ["USER"], *arguments],
                          capture_output=True, text=True, check=False)  # fmt: skip


def test_what_is_right_is_well(settings, tmp_path):
    done = check(settings({}))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    store = sqlite3.connect(tmp_path / "b.db")
    store.execute("CREATE TABLE t (a)")
    assert "another program" in check(settings({})).stdout
    store.execute(f"PRAGMA application_id = {0x50576B65}")
    store.execute("PRAGMA user_version = 2")
    assert check(settings({})).returncode == 0
    store.execute("PRAGMA user_version = 99")
    assert "newer release" in check(settings({})).stdout
    store.close()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(settings, mistake):
    changes, setting, message = MISTAKES[mistake]
    path = settings(changes)
    done = check(path)
    assert done.returncode == 1, done.stdout
    line = next((line for line in done.stdout.splitlines() if f": {setting}: " in line and message in line), None)
    assert line, done.stdout
    number = int(re.match(r".*?pushwake.conf:(\d+): (error|warning): ", line)[1])
    assert path.read_text().splitlines()[number - 1].startswith(setting)


def test_why_a_file_cannot_be_read_is_said(tmp_path):
    for arguments, why in ((["check", tmp_path], "Is a directory"), (["check", tmp_path / "none"], "No such file or directory"),
                           (["stats", "--settings", tmp_path / "none"], "No such file or directory"),
                           (["parse", tmp_path], "Is a directory")):  # fmt: skip
        done = subprocess.run([PUSHWAKE, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"cannot read {arguments[-1]}: {why}; give a readable file" in done.stderr


def test_what_a_terminal_obeys_is_not_printed(tmp_path):
    path = tmp_path / "pushwake.conf"
    path.write_text("a\x1b[31mb\x07 x\n")
    done = check(path)
    assert done.returncode == 1 and "write name = value" in done.stdout + done.stderr
    assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)


def test_an_open_settings_file_with_a_password(settings):
    path = settings({"http_proxy": "user:secret@127.0.0.1:3128"})
    path.chmod(0o644)
    done = check(path)
    assert done.returncode == 1 and f"everybody can read {path}" in done.stdout and "secret" not in done.stdout
    path.chmod(0o600)
    assert check(path).returncode == 0


def test_a_port_that_our_own_engine_has_is_free(make_engine, free_port):
    engine = make_engine(fastagi_listen=f"127.0.0.1:{free_port}", acrobits=1)
    done = check(engine.settings)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


REMOVED = [(name, remedy.replace("\\|", "|")) for name, remedy in
           re.findall(r"^\| `(\w+)` \| (no longer exists; .*) \|$", (ROOT / "docs" / "settings.md").read_text(), re.M)]


def test_a_setting_that_no_longer_exists_is_named_with_what_to_write(settings):
    assert len(REMOVED) == 26
    path = settings({name: "1" for name, _ in REMOVED})
    lines = path.read_text().splitlines()
    done = check(path)
    for name, remedy in REMOVED[:20]:
        number = lines.index(f"{name} = 1") + 1
        assert f"{path}:{number}: error: {name}: {remedy}" in done.stdout.splitlines(), done.stdout
    assert "6 more lines are wrong" in done.stdout


# ---- a whole kamailio.cfg

PAGE = re.search(r"```\n(#!KAMAILIO\n.*?)```", (ROOT / "docs" / "kamailio.md").read_text(), re.S)[1]


@pytest.fixture
def script(tmp_path, simulator):
    """The file of docs/kamailio.md with this machine's paths, changed by pairs of what was and what shall be."""
    def write(*changes):
        text = re.sub(r'modparam\("pushwake", "(?:apns|fcm).*\n', "", PAGE)
        rows = {**simulator.settings(), "store_path": tmp_path / "b.db", "engine_socket": tmp_path / "engine.sock"}
        text = text.replace('modparam("pushwake"', "".join(f'modparam("pushwake", "{n}", "{v}")\n' for n, v in rows.items()) + 'modparam("pushwake"', 1)
        for before, after in changes:
            assert before in text, before
            text = text.replace(before, after)
        path = tmp_path / "kamailio.cfg"
        path.write_text(text)
        return path

    return write


def test_the_gateway_of_the_page_is_well(script):
    from peers.upstream import configuration

    path = script()
    keys = re.findall(r'^modparam\("pushwake", "(?:apns_|fcm_|ca_file|store_path|engine_socket).*\n', path.read_text(), re.M)
    text = re.sub(r'^modparam\("pushwake", "(?:apns|fcm|secret)_.*\n', "", configuration(), flags=re.M)
    path.write_text(text.replace("request_route {", "".join(keys) + "request_route {", 1))
    done = check(path)
    assert "error" not in done.stdout + done.stderr, done.stdout + done.stderr
    path.write_text(path.read_text().replace('"use_domain", 1', '"use_domain", 0'))
    assert "use_domain" in check(path).stdout


@pytest.mark.parametrize("name, remedy", REMOVED)
def test_a_parameter_that_no_longer_exists_is_named_with_what_to_write(script, name, remedy):
    path = script(('modparam("pushwake", "wake_timeout", 30)', f'modparam("pushwake", "{name}", 1)'))
    number = next(i for i, line in enumerate(path.read_text().splitlines(), 1) if f'"{name}"' in line)
    done = check(path)
    assert [line for line in done.stdout.splitlines() if name in line] == [f"{path}:{number}: error: {name}: {remedy}"]


def test_the_script_of_the_page_is_well(script):
    done = check(script())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


ARM = '    t_on_branch("PHONE");\n'
RELAY = 'route[RELAY] {\n    t_on_branch("PHONE");\n    if (is_method("INVITE")) { t_on_failure("BUSY"); }\n    t_relay();\n    exit;\n}\n'
PLACES = {
    "order": ([('loadmodule "pushwake.so"\n', ""), ('loadmodule "tm.so"', 'loadmodule "pushwake.so"\nloadmodule "tm.so"')],
              'loadmodule "pushwake.so"', 'registrar.so must be loaded before pushwake.so; move loadmodule "pushwake.so" down'),
    "no registrar": ([('loadmodule "registrar.so"\n', "")], 'loadmodule "pushwake.so"', 'write loadmodule "registrar.so" above'),
    "no module": ([('loadmodule "pushwake.so"\n', "")], "#!KAMAILIO", "is not loaded"),
    "save": ([('pushwake_save("location")', 'save("location")')], 'save("location")', "stores no push binding"),
    "lookup": ([("if (is_method(\"INVITE\")) { record_route(); }", "if ($rU == \"7\") { lookup(\"location\"); t_relay(); exit; }")],
               'lookup("location"); t', "wakes nobody"),
    "ring group": ([("if (is_method(\"INVITE\")) { record_route(); }", "if ($rU == \"7\") { lookup_branches(\"location\"); t_relay(); exit; }")],
                   "lookup_branches", "lookup_branches() wakes nobody; send each branch back"),
    "one of a group": ([("if (is_method(\"INVITE\")) { record_route(); }", "if ($rU == \"7\") { lookup_to_dset(\"location\", \"$ru\"); t_relay(); exit; }")],
                       "lookup_to_dset", "lookup_to_dset() wakes nobody; write pushwake_lookup(table, uri)"),
    "unregister": ([("if (is_method(\"INVITE\")) { record_route(); }", "if ($rU == \"7\") { unregister(\"location\", \"$ru\"); exit; }")],
                   "unregister", "unregister() leaves the push binding"),
    "flags for a table": ([('pushwake_save("location")', 'pushwake_save("3")'), ('pushwake_lookup("location")', 'pushwake_lookup("3")')],
                          'pushwake_save("3")', 'pushwake_save("location", "3")'),
    "another table": ([('pushwake_lookup("location")', 'pushwake_lookup("loc2")')], "pushwake_lookup", "looks in table loc2, in which no route saves anybody"),
    "a route's name": ([("failure_route[PUSHWAKE]", "failure_route[PUSHWAK]")], "failure_route[PUSHWAK]", "is never called; write failure_route[PUSHWAKE]"),
    "an event's name": ([("branch_route[PHONE]", "event_route[pushwake:results] { xlog(\"x\"); }\nbranch_route[PHONE]")], "event_route[pushwake:results]",
                        "write event_route[pushwake:result] or event_route[pushwake:upstream]"),
    "authentication that is late": ([('{ pushwake_save("location"); exit; }',
                                      '{ pushwake_save("location"); if (!www_authenticate("a", "b")) { www_challenge("a", "0"); } exit; }')],
                                    "www_authenticate", "www_authenticate() comes after pushwake_save()"),
    "record_route that is late": ([("case 1:  t_relay(); exit;", "case 1:  record_route(); t_relay(); exit;")], "case 1:", "record_route() comes after pushwake_lookup()"),
    "a header that is late": ([("case 1:  t_relay(); exit;", 'case 1:  append_hf("X: y\\r\\n"); t_relay(); exit;')], "case 1:", "append_hf() comes after pushwake_lookup()"),
    "no relay": ([("case 1:  t_relay(); exit;", "case 1:  exit;")], "pushwake_lookup", "nothing relays after pushwake_lookup()"),
    "masked Call-IDs": ([('modparam("pushwake", "wake_timeout", 30)', 'modparam("topoh", "mask_callid", 1)\nmodparam("pushwake", "wake_timeout", 30)')],
                        "mask_callid", "topoh's mask_callid gives the phone another Call-ID"),
    "registrations that are short": ([('modparam("pushwake", "wake_timeout", 30)',
                                       'modparam("registrar", "max_expires", 200)\nmodparam("pushwake", "refresh_before", 120)\nmodparam("pushwake", "wake_timeout", 30)')],
                                     "refresh_before", "set it to 100 or less"),
    "accounting inside of calls": ([('modparam("pushwake", "wake_timeout", 30)', 'modparam("acc", "log_flag", 1)\nmodparam("pushwake", "wake_timeout", 30)'),
                                    ("if (loose_route()) { t_relay(); exit; }", "if (loose_route()) { pushwake_in_dialog(); setflag(1); t_relay(); exit; }")],
                                   "setflag", "setflag(1) comes after pushwake_in_dialog()"),
    "gruu": ([('modparam("registrar", "gruu_enabled", 0) ', 'modparam("registrar", "gruu_enabled", 1) ')], "gruu_enabled", "gruu_enabled is on"),
    "long contacts": ([('"contact_max_size", 1023', '"contact_max_size", 512')], "contact_max_size", "contact_max_size"),
    "a short timer": ([('modparam("pushwake", "wake_timeout", 30)', 'modparam("tm", "fr_timer", 1500)\nmodparam("pushwake", "wake_timeout", 30)')],
                      "fr_timer", "tm's fr_timer ends a call with 408 before a phone counts as silent (silent_after, 1500 ms)"),
    "late": ([(ARM, ""), ("case 1:  t_relay(); exit;", "case 1:  route(RELAY);"), ("branch_route[PHONE]", RELAY + "branch_route[PHONE]")],
             't_on_failure("BUSY")', 't_on_failure("BUSY") comes after pushwake_lookup()'),
    "dialog": ([("case 1:  t_relay(); exit;", "case 1:  dlg_manage(); t_relay(); exit;")], "dlg_manage", "dlg_manage() comes after"),
    "accounting": ([('modparam("pushwake", "wake_timeout", 30)', 'modparam("acc", "log_flag", 1)\nmodparam("pushwake", "wake_timeout", 30)'),
                    ("case 1:  t_relay(); exit;", "case 1:  setflag(1); t_relay(); exit;")], "setflag", "setflag(1) comes after"),
    "missed calls": ([('modparam("pushwake", "wake_timeout", 30)',
                       'modparam("acc", "log_flag", 1)\nmodparam("acc", "log_missed_flag", 2)\nmodparam("pushwake", "wake_timeout", 30)'),
                      ("if (is_method(\"INVITE\")) { record_route(); }", "if (is_method(\"INVITE\")) { record_route(); setflag(1); }"),
                      ("case 1:  t_relay(); exit;", "case 1:  setflag(2); t_relay(); exit;")],
                     "setflag(2)", 'so acc does not record as missed what a failure_route takes elsewhere; set it before, or modparam("acc", "acc_prepare_flag", 1)'),
    "flags": ([('pushwake_save("location")', 'pushwake_save("location", "quiet")')], "pushwake_save", 'flags "quiet" are no number; write 4 or 0x04'),
    "a third parameter": ([('pushwake_save("location")', 'pushwake_save("location", "0x04", "$tu")')], "pushwake_save", "no third parameter"),
    "tsilo": ([('pushwake_save("location")', 'pushwake_save("location"); ts_append("location", "$tu")')], "ts_append", "ts_append() of tsilo is not needed"),
    "a value below zero": ([('"wake_timeout", 30', '"wake_timeout", -30')], '"wake_timeout"', '"-30" does not fit'),
    "a value": ([('"wake_timeout", 30', '"wake_timeout", 3000')], '"wake_timeout"', "write a number"),
    "twice": ([('modparam("pushwake", "wake_timeout", 30)', 'modparam("pushwake", "wake_timeout", 30)\nmodparam("pushwake", "wake_timeout", 31)')],
              '"wake_timeout", 31', "already"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", PLACES)
def test_a_mistake_in_the_script_is_named(script, mistake):
    changes, place, message = PLACES[mistake]
    path = script(*changes)
    done = check(path)
    assert done.returncode == 1, done.stdout
    line = next((line for line in done.stdout.splitlines() if message in line), None)
    assert line, done.stdout
    number = int(re.match(r".*?kamailio.cfg:(\d+): (error|warning): ", line)[1])
    assert place in path.read_text().splitlines()[number - 1]


def test_keys_beside_an_engine_of_its_own_are_named(script):
    path = script(('modparam("pushwake", "store_path"', 'modparam("pushwake", "engine_mode", "external")\nmodparam("pushwake", "store_path"'))
    done = check(path)
    line = next((line for line in done.stdout.splitlines() if "engine_mode is external" in line), None)
    assert done.returncode == 1 and line, done.stdout
    assert "apns_key" in line and "fcm_key" in line
    assert 'modparam("pushwake", "' in path.read_text().splitlines()[int(line.split(":")[1]) - 1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks as another user")
def test_an_included_file_that_the_pbx_cannot_read_is_named(script):
    """`sudo tee` under umask 077 makes such files, and Kamailio passes over them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        included = pathlib.Path(directory) / "pushwake.cfg"
        included.write_text('modparam("pushwake", "engine_timeout", 101)\n')
        path = script(('modparam("pushwake", "wake_timeout", 30)', f'import_file "{included}"\nmodparam("pushwake", "wake_timeout", 30)'))
        path = pathlib.Path(shutil.copy(path, directory))
        for mode, is_named in ((0o600, True), (0o644, False)):
            included.chmod(mode)
            done = subprocess.run([PUSHWAKE, "check", path, "--user", "nobody"], capture_output=True, text=True, check=False)
            line = next((line for line in done.stdout.splitlines() if f"user nobody cannot read {included}" in line), None)
            assert bool(line) == is_named, done.stdout
            if line:
                assert "chmod 640" in line and "import_file" in path.read_text().splitlines()[int(line.split(":")[1]) - 1]


def test_explain_reads_the_same_file(script, tmp_path):
    head = ("To: <sip:bob@example.com>\r\nFrom: <sip:alice@example.com>;tag=1\r\nCall-ID: a\r\nCSeq: 1 {0}\r\n"
            "Content-Length: 0\r\n")
    contact = f"Contact: <sip:bob@192.0.2.1;pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={'x' * 60}>\r\n"
    register, cancel = tmp_path / "register.sip", tmp_path / "cancel.sip"
    register.write_text("REGISTER sip:example.com SIP/2.0\r\n" + contact + head.format("REGISTER") + "\r\n")
    cancel.write_text("CANCEL sip:bob@example.com SIP/2.0\r\n" + head.format("CANCEL") + "\r\n")
    done = subprocess.run([PUSHWAKE, "explain", "--settings", script(), "--register", register, "--request", cancel],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and '"cancel"' in done.stdout and "wakes no phone" not in done.stdout, done


@pytest.mark.parametrize("flags", ['"2"', '"0x02"', '"0X1f"', "2", '"$var(flags)"'])
def test_flags_of_save_are_well(script, flags):
    done = check(script(('pushwake_save("location")', f'pushwake_save("location", {flags})')))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("silent_after, fr_timer", [(1500, 1501), (0, 500), (-1, 500), (800, 900)])
def test_a_timer_that_is_long_enough_is_well(script, silent_after, fr_timer):
    lines = f'modparam("tm", "fr_timer", {fr_timer})\nmodparam("pushwake", "silent_after", {silent_after})\n'
    done = check(script(('modparam("pushwake", "wake_timeout", 30)', lines + 'modparam("pushwake", "wake_timeout", 30)')))
    assert done.returncode == 0, done.stdout


def test_users_who_are_logged_out_and_two_tables_are_well(script):
    out = ("if (is_method(\"INVITE\")) { record_route(); }", 'if ($rU == "7") { unregister("location", "$ru"); pushwake_remove("$ru"); exit; }')
    tables = ('{ pushwake_save("location"); exit; }', '{ pushwake_save("b"); pushwake_save("location"); exit; }')
    done = check(script(out, tables))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_what_is_armed_inside_of_calls_only_is_late_too(script):
    inside = ("if (loose_route()) { t_relay(); exit; }", "if (loose_route()) { route(RELAY); exit; }")
    done = check(script(*PLACES["late"][0], inside))
    assert 't_on_failure("BUSY") comes after' in done.stdout and 't_on_branch("PHONE") comes after' in done.stdout


def test_a_flag_for_missed_calls_that_comes_late_is_well_if_acc_has_prepared(script):
    more = ('modparam("acc", "log_missed_flag", 2)', 'modparam("acc", "log_missed_flag", 2)\nmodparam("acc", "acc_prepare_flag", 1)')
    done = check(script(*PLACES["missed calls"][0], more))
    assert done.returncode == 0, done.stdout


def test_conditions_and_includes_are_followed(script, tmp_path):
    more = tmp_path / "more.cfg"
    more.write_text("/* save(\"location\") */\n#!ifdef WITH_OLD\nroute[OLD] { save(\"location\"); }\n#!endif\n")
    path = script(("branch_route[PHONE]", f'include_file "{more.name}"\nbranch_route[PHONE]'))
    assert check(path).returncode == 0
    done = check(path, "-A", "WITH_OLD")
    assert done.returncode == 1 and f"{more}:3: warning: save()" in done.stdout


def test_names_and_strings_are_replaced_as_kamailio_does(script, monkeypatch):
    seconds = ('modparam("pushwake", "wake_timeout", 30)', '#!defenv SECONDS\nmodparam("pushwake", "wake_timeout", SECONDS)')
    monkeypatch.setenv("SECONDS", "3000")
    assert '"3000" does not fit' in check(script(seconds)).stdout
    monkeypatch.setenv("SECONDS", "30")
    keys = ('modparam("pushwake", "apns_key", "/', '#!subst "!KEYS!/!"\nmodparam("pushwake", "apns_key", "KEYS')
    done = check(script(seconds, keys))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_setup_without_a_push_service_is_not_well(settings, script, tmp_path):
    services = ("apns_key", "apns_key_id", "apns_team_id", "fcm_key")
    done = check(settings({name: None for name in services}))
    assert done.returncode == 1 and "no push service is set up" in done.stdout
    assert check(settings({name: None for name in services} | {"acrobits": 1})).returncode == 0
    text = re.sub(r'modparam\("pushwake", "(?:apns|fcm)_key.*\n|modparam\("pushwake", "apns_team.*\n', "", script().read_text())
    path = tmp_path / "kamailio.cfg"
    path.write_text(text.replace("request_route {", 'import_file "pushwake.cfg"\nrequest_route {', 1))
    said = check(path).stdout
    assert "no push service is set up" in said and f"import_file: {tmp_path}/pushwake.cfg is not there" in said
    (tmp_path / "pushwake.cfg").write_text('modparam("pushwake", "acrobits", 1)\n')
    assert check(path).returncode == 0
    path.write_text(path.read_text().replace("request_route {", 'include_file "tls.cfg"\nrequest_route {', 1))
    done = check(path)
    assert done.returncode == 1 and f"include_file: cannot read {tmp_path}/tls.cfg" in done.stdout, done.stdout


def test_the_registrar_beside_asterisk_of_the_page_is_well(script, tmp_path):
    import grp

    page = re.search(r"```\n(#!KAMAILIO\n.*?)```", (ROOT / "docs" / "asterisk.md").read_text(), re.S)[1]
    keys = re.findall(r'^modparam\("pushwake", "(?:apns_|fcm_|ca_file|store_path|engine_socket).*\n', script().read_text(), re.M)
    keys.append(f'modparam("pushwake", "engine_socket_group", "{grp.getgrgid(os.getegid()).gr_name}")\n')
    text = re.sub(r'^modparam\("pushwake", "(?:apns|fcm)_.*\n', "", page, flags=re.M)
    path = tmp_path / "kamailio.cfg"
    path.write_text(text.replace("request_route {", "".join(keys) + "request_route {", 1))
    done = check(path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
