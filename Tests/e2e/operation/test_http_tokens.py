# SPDX-License-Identifier: MIT
"""Tokens, pushes and wakes over HTTP: what Acrobits' apps send, and what programs of an operator do."""

import hashlib
import itertools
import json
import sqlite3
import uuid
import threading
import urllib.parse

import pytest

from peers.http_client import TOKEN, Client, listen
from ports import free_port
from servers import CALLS, wait_until

IOS = {
    "selector": "12869E0E6E553673C54F29105A0647204C416A2A:7C3A0D14",
    "pushTokenIncomingCall": "Y2FsbC10b2tlbg==", "pushappid_incoming_call": "com.example.softphone.voip",
    "pushTokenOther": "b3RoZXItdG9rZW4=", "pushappid_other": "com.example.softphone.other"}
ANDROID = {"selector": "AAAA:1", "pushToken": "ZmNtLXRva2Vu", "pushappid": "com.example.android"}


def ha1(user, realm, password):
    return f"{user}:{realm}:{hashlib.md5(f'{user}:{realm}:{password}'.encode()).hexdigest()}\n"


@pytest.fixture
def served(make_engine, tmp_path, simulator):
    """An engine that pushes to Acrobits and to Apple, with two accounts."""
    users = tmp_path / "http-users"
    users.write_text(ha1("alice", "example.com", "secret") + ha1("bob", "pushwake", "secret2"))
    return listen(make_engine, tmp_path, http_users=users, http_rate=1000, **acrobits(simulator),
                  **{k: v for k, v in simulator.settings().items() if k.startswith("apns_key") or k == "apns_team_id"})


def acrobits(simulator):
    return {"acrobits": 1, "acrobits_url": f"{simulator.url}/pnm2/send"}


def form(values):
    return [part for name, value in values.items() for part in ("--data-urlencode", f"{name}={value}")]


def as_json(values):
    return ["-H", "Content-Type: application/json", "-d", json.dumps(values)]


def bindings(client, aor):
    answer = client.curl(f"/v1/bindings?aor={urllib.parse.quote(aor)}")
    assert answer.status == 200, answer.body
    return [row for row in answer.json["bindings"] if not row["removed"]]


@pytest.mark.parametrize("report", [
    lambda v: form(v), lambda v: as_json(v), lambda v: ["-G", *form(v)],
    lambda v: as_json({"selector": v["selector"], "token_calls": v["pushTokenIncomingCall"],
                       "token_msgs": v["pushTokenOther"], "appId_calls": v["pushappid_incoming_call"],
                       "appId_msgs": v["pushappid_other"], "username": v["username"], "password": v["password"]}),
], ids=["form", "json", "url", "names of the field"])
def test_an_app_reports_its_tokens_and_takes_them_back(served, report):
    engine, client = served
    shown = {"username": "alice", "password": "secret", **IOS}
    answer = client.curl("/v1/acrobits/push-token", *report(shown), operator=False)
    assert answer.status == 200 and answer.json == {"stored": 2}
    found = bindings(client, "alice")
    assert {(b["app"], b["service"]) for b in found} == {
        ("com.example.softphone.voip", "voip"), ("com.example.softphone.other", "remote")}
    assert {b["dialect"] for b in found} == {"acrobits"}
    # At every start of the app; nothing is doubled.
    client.curl("/v1/acrobits/push-token", *report(shown), operator=False)
    assert len(bindings(client, "alice")) == 2
    other = {**shown, "selector": "BBBB:2", "pushTokenIncomingCall": "c2Vjb25k", "pushTokenOther": "c2Vjb25kLW8="}
    client.curl("/v1/acrobits/push-token", *report(other), operator=False)
    assert len(bindings(client, "alice")) == 4
    answer = client.curl("/v1/acrobits/account-removal", *report(shown), operator=False)
    assert answer.status == 200 and answer.json == {"removed": 2}
    assert {b["instance"][:16] for b in bindings(client, "alice")} == {"acrobits:BBBB:2:"}
    assert client.curl("/v1/acrobits/account-removal", *report(shown), operator=False).json == {"removed": 0}
    log = engine.text()
    assert "secret" not in log and IOS["pushTokenOther"] not in log and "tokens reported aor=alice" in log


def test_two_devices_with_one_selector_are_both_kept(served):
    engine, client = served
    first = {"username": "erin", **ANDROID}
    second = {**first, "pushToken": "b3RoZXItcGhvbmU="}
    for shown in (first, second, first):
        assert client.curl("/v1/acrobits/push-token", *form(shown)).json == {"stored": 1}
    assert len(bindings(client, "erin")) == 2
    answer = client.curl("/v1/send", *as_json({"aor": "erin", "event": "call"}))
    assert answer.json["pushed"] == 2, answer.body
    assert client.curl("/v1/acrobits/account-removal", *form(first)).json == {"removed": 1}
    assert len(bindings(client, "erin")) == 1


def test_calls_go_to_one_app_id_and_messages_to_the_other(served, simulator):
    engine, client = served
    client.curl("/v1/acrobits/push-token", *form({"username": "carol", **IOS}))
    for event, app in (("call", "com.example.softphone.voip"), ("chat", "com.example.softphone.other")):
        answer = client.curl("/v1/send", *as_json({"aor": "carol", "event": event, "text": "hi"}))
        assert answer.status == 200 and answer.json["pushed"] == 1, answer.body
        assert [(r["provider"], r["app"]) for r in answer.json["results"]] == [("acrobits", app)]
    pushed = json.dumps(simulator.pushes(IOS["pushTokenIncomingCall"]))
    assert IOS["selector"] in pushed and "NotifyIncomingCall" in pushed


def test_an_account_may_report_for_itself_alone(served):
    engine, client = served
    own = {"username": "alice", "password": "secret", **ANDROID}
    report = "/v1/acrobits/push-token"
    assert client.curl(report, *form({**own, "password": "wrong"}), operator=False).status == 403
    assert client.curl(report, *form({**own, "aor": "bob"}), operator=False).status == 403
    assert client.curl(report, *form({**own, "domain": "example.org"}), operator=False).status == 403
    assert client.curl(report, *form({**own, "domain": "example.com"}), operator=False).status == 200
    assert client.curl(report, *form(ANDROID), "--digest", "-u", "bob:secret2", operator=False).status == 200
    assert client.curl(report, *form(ANDROID), "-u", "bob:wrong", operator=False).status == 401
    assert client.curl(report, *form(ANDROID), operator=False).status == 401
    assert len(bindings(client, "alice@example.com")) == 1 and len(bindings(client, "bob")) == 1
    mine = client.curl("/v1/bindings", "-u", "bob:secret2", operator=False)
    assert [b["aor"] for b in mine.json["bindings"]] == ["bob"]
    assert client.curl("/v1/bindings?aor=alice", "-u", "bob:secret2", operator=False).status == 403
    for path in ("/v1/send", "/v1/wake"):
        assert client.curl(path, "-d", "aor=bob", "-u", "bob:secret2", operator=False).status == 403
    assert client.curl("/metrics", "-u", "bob:secret2", operator=False).status == 403


@pytest.mark.parametrize("values, word", [
    ({"selector": "x"}, "pushToken"), ({"pushToken": "abc"}, "pushappid"),
    ({"pushTokenIncomingCall": "abc", "pushappid_incoming_call": "a b"}, "pn-param"),
    ({"pushToken": 'a"b', "pushappid": "com.example"}, "pn-prid"),
    ({"pushToken": "a" * 5000, "pushappid": "com.example"}, "pn-prid"),
    ({**ANDROID, "selector": "a b"}, "selector")])
def test_a_report_that_cannot_be_used_says_why(served, values, word):
    engine, client = served
    answer = client.curl("/v1/acrobits/push-token", *form({"username": "dave", **values}))
    assert answer.status == 400 and word in answer.json["error"], answer.body
    assert not bindings(client, "dave")


@pytest.mark.parametrize("options, status", [
    (["-H", "Content-Type: application/json", "-d", "{"], 400),
    (["-H", "Content-Type: application/json", "-d", "[1]"], 400),
    (["-H", "Content-Type: application/json", "-d", '{"aor":{"a":1}}'], 400),
    (["-H", "Content-Type: application/json", "-d", '{"aor":"a\\u0000b"}'], 400),
    (["-H", "Content-Type: text/xml", "-d", "<a/>"], 415),
    (["-d", "aor=%zz"], 400), (["-d", "text=hello"], 400), (["-d", "aor=nobody"], 404),
    (["-d", "aor=x&event=nonsense"], 400), (["-d", "aor=x&timeout=0"], 400), (["-d", "aor=x&wait=maybe"], 400),
    (["-d", "aor=x&evnt=call"], 400), (["-d", "aor=x&name=Bob"], 400),
    (["-d", "provider=nonsense&app=a&token=b"], 422), (["-d", "aor=x&token=y"], 422),
    (["-H", "Sec-Fetch-Site: cross-site", "-d", "aor=x"], 403)])
def test_a_push_that_cannot_be_sent_says_why(served, options, status):
    engine, client = served
    answer = client.curl("/v1/send", *options)
    assert answer.status == status and answer.json["error"], answer.body


def test_a_page_of_another_site_cannot_report(served):
    engine, client = served
    query = urllib.parse.urlencode({"username": "alice", **ANDROID})
    assert client.curl(f"/v1/acrobits/push-token?{query}", "-H", "Sec-Fetch-Site: cross-site").status == 403
    assert not bindings(client, "alice")


def test_bindings_are_made_listed_page_by_page_and_removed(served):
    engine, client = served
    token = "ab" * 32
    made = client.curl("/v1/bindings", *as_json({
        "aor": "erin", "provider": "apns", "app": "com.example.phone", "token": token, "service": "voip",
        "environment": "sandbox", "instance": "urn:uuid:1"}))
    assert made.status == 200 and made.json == {"stored": 1}
    row = bindings(client, "erin")[0]
    assert (row["environment"], row["service"], row["instance"]) == ("sandbox", "voip", "urn:uuid:1")
    assert token not in json.dumps(row)
    refused = client.curl("/v1/bindings", *as_json({
        "aor": "erin", "provider": "fcm", "app": "demo-project", "token": "x"}))
    assert refused.status == 422 and "not set up" in refused.json["error"]
    gone = client.curl("/v1/bindings", "-X", "DELETE", *as_json({
        "aor": "erin", "provider": "apns", "app": "com.example.phone", "token": token}))
    assert gone.json == {"removed": 1} and not bindings(client, "erin")

    for number in range(400):
        client.say(f"POST /v1/bindings HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: "
                   f"{len(body := f'aor=user{number:03}&provider=apns&app=com.example.{number}&token={number:064}')}"
                   f"\r\n\r\n{body}", end=True)
    found, cursor, pages = [], "", 0
    while cursor is not None:
        answer = client.curl(f"/v1/bindings?user=user*&cursor={urllib.parse.quote(cursor)}").json
        found += [b["aor"] for b in answer["bindings"]]
        cursor, pages = answer.get("cursor"), pages + 1
    assert found == [f"user{number:03}" for number in range(400)] and pages > 1
    assert client.curl("/v1/bindings?provider=nonsense").status == 400
    # What was meant as a condition is not taken for none.
    for query in ("aor=user001&provder=fcm", "aor=user001&token=", "aor=user001&provider="):
        refused = client.curl(f"/v1/bindings?{query}", "-X", "DELETE")
        assert refused.status == 400 and query.split("&")[1].split("=")[0] in refused.json["error"], refused.body
        assert client.curl(f"/v1/bindings?{query}").status == 400
    assert bindings(client, "user001")
    assert client.curl("/v1/bindings?aor=user001", "-X", "DELETE").json == {"removed": 1}
    assert client.curl("/v1/bindings", "-X", "DELETE").status == 400


@pytest.mark.parametrize("body, word", [
    ("aor=grace&enviroment=sandbox", "enviroment"), ("aor=heidi&aor=grace", "aor is there twice"),
    ("aor=sip:grace@example.com", "user or user@domain"), ("aor=SIPS:grace", "user or user@domain")])
def test_a_binding_is_not_stored_otherwise_than_it_was_meant(served, body, word):
    engine, client = served
    answer = client.curl("/v1/bindings", "-d", f"{body}&provider=apns&app=com.example.phone&token={'ab' * 32}")
    assert answer.status == 400 and word in answer.json["error"], answer.body
    assert not client.curl("/v1/bindings?user=*grace*").json["bindings"]


def test_a_token_is_the_same_however_it_is_spelled(served, tmp_path):
    engine, client = served
    written, spelled = "32C6AD8E" * 8, "<" + " ".join(["32c6ad8e"] * 8) + ">"
    app = {"aor": "speller", "provider": "apns", "app": "com.example.phone"}
    for instance, token in (("<1>", written), ("<2>", spelled)):
        assert client.curl("/v1/bindings", *as_json({**app, "token": token, "instance": instance})).json == {"stored": 1}
    assert [b["instance"] for b in bindings(client, "speller")] == ["<2>"]
    # From a backup that an earlier release has written.
    row = json.loads(engine.run("bindings", "export", "--secrets").stdout)
    assert row["token"] == written.lower()
    file = tmp_path / "backup.jsonl"
    file.write_text(json.dumps({**row, "token": written, "instance": "<3>", "registered_at": row["registered_at"] + 1}))
    assert engine.run("bindings", "import", file).returncode == 0
    assert len(bindings(client, "speller")) == 1
    query = urllib.parse.urlencode({**app, "token": spelled})
    assert client.curl(f"/v1/bindings?{query}", "-X", "DELETE").json == {"removed": 1}
    sent = engine.run("send", "call", "--platform", "apns", "--package", "com.example.phone", "--token", written, "--json")
    assert json.loads(sent.stdout)[0]["token"] == "32c6ad…ad8e", sent.stdout + sent.stderr


@pytest.mark.parametrize("values, word", [
    ({"contact": "sip:a@b\r\nX: y"}, "contact"), ({"contact": "sip:a@b\n"}, "contact"),
    ({"contact": "sip:" + "a" * 8192}, "contact"), ({"instance": "urn:uuid:1\t2"}, "instance"),
    ({"instance": "a" * 600}, "instance"), ({"auth": "a\nb"}, "auth"), ({"selector": "a" * 600}, "selector"),
    ({"token": "ab\n" * 10}, "token"), ({"app": "com.example\n"}, "app")])
def test_a_binding_has_no_line_ends_and_nothing_longer_than_a_register_may_have(served, values, word):
    engine, client = served
    made = {"aor": "frank", "provider": "apns", "app": "com.example.phone", "token": "ab" * 32, **values}
    answer = client.curl("/v1/bindings", *as_json(made))
    assert answer.status == 400 and word in answer.json["error"], answer.body
    assert not bindings(client, "frank")


def test_a_text_may_have_lines(served):
    engine, client = served
    for end in ("\n", "\r\n"):
        values = {"aor": "nobody", "event": "chat", "text": f"one{end}\ttwo", "title": f"a{end}b"}
        for options in (as_json(values), form(values)):
            answer = client.curl("/v1/send", *options)
            assert answer.status == 404, answer.body


def test_a_store_that_cannot_be_reached_shows_and_is_said(make_engine, make_valkey, tmp_path, simulator):
    valkey = make_valkey()
    engine, client = listen(make_engine, tmp_path, **{**simulator.settings(), "store": valkey.url})
    binding = as_json({"aor": "gina", "provider": "apns", "app": "com.example.phone", "token": "ab" * 32})
    wait_until("the store is there", lambda: client.curl("/v1/bindings", *binding).status == 200)
    health = client.curl("/healthz", operator=False)
    assert health.status == 200 and health.json["store"] == "ok"
    metrics = client.curl("/metrics").body
    assert "pushwake_store_up 1" in metrics and "pushwake_bindings " not in metrics
    assert "pushwake_registers_waiting 0" in metrics
    # Nobody registers: the node sees for itself that there is no room, and that there is some again.
    valkey.run("config", "set", "maxmemory", 1)
    wait_until("no room is noticed", lambda: client.curl("/healthz", operator=False).status == 503, 20)
    assert "pushwake_store_up 0" in client.curl("/metrics").body and "OOM" in engine.text()
    valkey.run("config", "set", "maxmemory", 0)
    wait_until("there is room again", lambda: client.curl("/healthz", operator=False).status == 200, 20)
    valkey.kill()
    wait_until("the store is missed", lambda: client.curl("/healthz", operator=False).status == 503)
    assert client.curl("/healthz", operator=False).json["store"] == "failing"
    assert "pushwake_store_up 0" in client.curl("/metrics").body
    assert "phones that can be woken" not in client.curl("/").body
    for path, options in [("/v1/bindings", binding), ("/v1/bindings?aor=gina", []), ("/v1/bindings", []),
                          ("/v1/bindings?aor=gina", ["-X", "DELETE"]), ("/v1/send", ["-d", "aor=gina&event=chat"]),
                          ("/v1/wake", ["-d", "aor=gina"])]:
        answer = client.curl(path, *options)
        assert answer.status == 503 and "store" in answer.body, (path, options, answer.body)
    valkey.start()
    wait_until("the store is there again", lambda: client.curl("/healthz", operator=False).status == 200)


def test_a_store_that_cannot_be_written_shows_until_it_can(make_engine, tmp_path, simulator):
    """Also when nobody registers any more, since a load balancer sends REGISTERs elsewhere."""
    engine, client = listen(make_engine, tmp_path, http_rate=1000, **simulator.settings())

    def store(user):
        return client.curl("/v1/bindings", *as_json(
            {"aor": user, "provider": "apns", "app": "com.example.phone", "token": "ab" * 32})).status

    assert store("hugo") == 200
    other = sqlite3.connect(engine.settings.parent / "bindings.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    numbers = itertools.count()
    # A group of them waits in the journal.
    wait_until("the store is full", lambda: store(f"waits-{next(numbers)}") == 503, step=0)
    health = client.curl("/healthz", operator=False)
    assert health.status == 503 and health.json["store"] == "failing"
    assert "pushwake_store_up 0" in client.curl("/metrics").body
    assert "no phone that registers now is bound" in engine.run("doctor", "hugo").stdout
    wait_until("what waits is said", lambda: "registrations wait in the journal" in engine.text())
    other.execute("ROLLBACK")
    wait_until("it can be written again", lambda: client.curl("/healthz", operator=False).status == 200)
    assert engine.text().count("registrations wait in the journal") == 1
    assert store("hugo") == 200


def test_a_store_whose_file_was_taken_away_shows_and_is_said(make_engine, tmp_path, simulator):
    engine, client = listen(make_engine, tmp_path, **simulator.settings())
    store = engine.settings.parent / "bindings.db"
    moved = store.with_name("moved.db")
    assert client.curl("/healthz", operator=False).json["store"] == "ok"
    store.rename(moved)
    assert client.curl("/healthz", operator=False).status == 503
    wait_until("it is said", lambda: "was removed or replaced" in engine.text())
    moved.rename(store)
    assert client.curl("/healthz", operator=False).status == 200


def test_a_program_wakes_a_phone_and_hears_when_it_is_there(make_kamailio, tmp_path, actors, simulator):
    from phones import mpush_android

    port = free_port()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    server = make_kamailio(config=CALLS.read_text(), settings={"http_listen": str(port), "http_token_file": str(token)})
    server.start().wait_engine()
    client = Client(port)
    phone = actors.phone(server, "woken", mpush_android())
    phone.register()
    # For a moment after its REGISTER a phone counts as awake; what is asked meanwhile pushes nothing.
    wait_until("the phone sleeps", lambda: client.curl(
        "/v1/wake", *as_json({"aor": "woken", "timeout": 1})).json["status"] != "awake", 15, step=0.5)
    before = len(simulator.pushes(phone.push.token))
    answers = []
    asking = threading.Thread(target=lambda: answers.append(client.curl(
        "/v1/wake", *as_json({"aor": "woken", "timeout": 15, "from": "sip:door@example.com"}))))
    asking.start()
    simulator.wait_push(phone.push.token, after=before)
    assert not answers
    phone.register()
    asking.join(20)
    assert answers[0].status == 200 and answers[0].json["status"] == "woken", answers[0].body
    assert answers[0].json["contact"].startswith("sip:woken@") and answers[0].json["ms"] > 0
    late = client.curl("/v1/wake", *as_json({"aor": "nobody", "timeout": 1}))
    assert late.status == 404 and late.json["status"] == "no-binding"
    silent = client.curl("/v1/wake", *as_json({"aor": "woken", "timeout": 1}))
    assert silent.json["status"] in ("timed-out", "awake")
    # Nobody asks for it any more.
    wait_until("the request is over", lambda: client.curl("/healthz").json["held_requests"] == 0, 20)


@pytest.fixture
def reported(make_kamailio, tmp_path):
    """A Kamailio whose user groundwire has one app, which reported its tokens, and their selector."""
    port = free_port()
    token = tmp_path / "token"
    token.write_text(TOKEN)

    def start(simulator, **settings):
        server = make_kamailio(config=CALLS.read_text(), wake_timeout=3, settings={
            "http_listen": str(port), "http_token_file": str(token), **acrobits(simulator), **settings})
        server.start().wait_engine()
        selector = uuid.uuid4().hex
        report = {"username": "groundwire", **IOS, "selector": selector}
        assert Client(port).curl("/v1/acrobits/push-token", *form(report)).json == {"stored": 2}
        return server, selector, Client(port)

    return start


def verbs(simulator, selector):
    return [push["body"]["verb"] for push in simulator.pushes(selector)]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_the_app_that_answers_is_the_one_that_reported_its_token(reported, wire, simulator, transport):
    """What it registers names no token. A push about the end would end its own call."""
    server, selector, client = reported(simulator)
    phone = wire.phone(server, "groundwire", transport)
    phone.register()
    for calls in (1, 2):
        phone.sleep()
        call = wire.call(server, "groundwire")
        wait_until("a push", lambda: verbs(simulator, selector).count("NotifyIncomingCall") == calls)
        phone = wire.again(phone)
        phone.register()
        phone.wait_request("INVITE")
        call.wait_status(200)
        call.hang_up()
        phone.wait_request("BYE")
    row, = [row for row in bindings(client, "groundwire") if row["service"] == "voip"]
    assert (row["accepted"], row["woke"]) == (2, 2), row
    assert verbs(simulator, selector) == ["NotifyIncomingCall"] * 2


def test_an_app_that_declines_keeps_the_token_that_it_reported(reported, wire, simulator):
    server, selector, client = reported(simulator)
    phone = wire.phone(server, "groundwire", "tcp")
    phone.register()
    for calls in (1, 2, 3):
        phone.sleep()
        call = wire.call(server, "groundwire")
        wait_until("a push", lambda: verbs(simulator, selector).count("NotifyIncomingCall") == calls)
        phone = wire.again(phone)
        phone.answers["INVITE"] = (180, 486)
        phone.register()
        assert call.wait_final(8).status == 486
    assert len(bindings(client, "groundwire")) == 2


def test_a_call_wakes_an_app_that_reported_its_token_over_http(make_kamailio, tmp_path, wire, simulator):
    port = free_port()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    server = make_kamailio(config=CALLS.read_text(), wake_timeout=8, settings={
        "http_listen": str(port), "http_token_file": str(token), **acrobits(simulator)})
    server.start().wait_engine()
    # Another test's push to the selector of all others must not be taken for this one.
    selector = uuid.uuid4().hex
    answer = Client(port).curl("/v1/acrobits/push-token", *form({"username": "groundwire", **IOS, "selector": selector}))
    assert answer.json == {"stored": 2}
    call = wire.call(server, "groundwire")
    push = simulator.wait_push(selector)
    assert "NotifyIncomingCall" in json.dumps(push) and call.call_id in json.dumps(push)
    phone = wire.phone(server, "groundwire")
    phone.register()
    invite = phone.wait_request("INVITE")
    assert invite.headers("Call-ID") == [call.call_id]
    assert call.wait_final().status == 200
    wait_until("one INVITE", lambda: len(phone.requests("INVITE")) == 1)


@pytest.mark.parametrize("token", ["null", "undefined", "(null)", "{}", "[]", "[object Object]"])
def test_a_token_that_a_program_wrote_for_none_is_refused_with_the_remedy(served, token):
    engine, client = served
    answer = client.curl("/v1/bindings", *form({"aor": "alice", "provider": "apns", "app": "com.example.phone", "token": token}))
    assert answer.status == 400 and token in answer.json["error"]
    assert "in the app, ask for the token first" in answer.json["error"]
    assert bindings(client, "alice") == []


@pytest.mark.parametrize("host, remedy", [
    ("ntfy.example.org", "ntfy.example.org is not in webpush_hosts"),
    ("192.168.7.7", "192.168.7.7 is a private address, so no push may go there; write it into webpush_hosts")])
def test_a_subscription_that_may_not_be_used_names_its_host_and_the_setting(
        make_engine, tmp_path, simulator, host, remedy):
    engine, client = listen(
        make_engine, tmp_path, vapid_key=simulator.directory / "files" / "vapid.pem", vapid_subject="mailto:ops@example.com",
        webpush_hosts="push.example.com")
    answer = client.curl("/v1/bindings", *form({"aor": "alice", "provider": "webpush", "token": f"https://{host}/up/abc"}))
    assert answer.status == 422 and remedy in answer.json["error"]
