# SPDX-License-Identifier: MIT
"""/metrics is read by a real Prometheus; the alert rules and the dashboard that come along work on what it has."""

import json
import math
import os
import pathlib
import re
import subprocess
import time
import urllib.parse
import urllib.request
import uuid

import pytest
import yaml

from peers.http_client import TOKEN, Client, listen
from phones import Push, mpush_android, mpush_ios
from ports import free_port
from servers import CALLS, PUSHWAKE, ROOT, wait_until

RULES = ROOT / "examples" / "prometheus-rules.yml"
DASHBOARD = ROOT / "examples" / "grafana.json"


class Prometheus:
    """Debian's own, on loopback."""

    def __init__(self, directory, target):
        self.port = free_port()
        token = directory / "token"
        token.write_text(TOKEN)
        config = (ROOT / "examples" / "prometheus.yml").read_text()
        config = config.replace("/etc/prometheus/pushwake-token", str(token)).replace("127.0.0.1:8088", target)
        config = config.replace("prometheus-rules.yml", str(RULES))
        (directory / "prometheus.yml").write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + config)
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=(directory / "prometheus.log").open("w"), stderr=subprocess.STDOUT)
        wait_until("Prometheus is ready", self.is_ready, 30)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def get(self, path, **values):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(values)
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def value(self, query):
        """The value of a query that has one sample; None for none."""
        result = self.get("query", query=query)["result"]
        return float(result[0]["value"][1]) if result else None

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def watched(make_kamailio, tmp_path):
    """A Kamailio with metrics, and a Prometheus that reads them."""
    port = free_port()
    token = tmp_path / "http-token"
    token.write_text(TOKEN)
    server = make_kamailio(config=CALLS.read_text(), wake_timeout=2, settings={
        "http_listen": str(port), "http_token_file": str(token)})
    server.start().wait_engine()
    prometheus = Prometheus(tmp_path, f"127.0.0.1:{port}")
    yield server, Client(port), prometheus
    prometheus.stop()


def play_calls(server, actors, wire, simulator):
    """Calls that wake their phones and are answered, one that nobody takes, one that the caller ends, and a dead token."""
    for number in range(2):
        phone = actors.phone(server, f"woken{number}", mpush_android())
        phone.register()
        caller = actors.call(server, f"woken{number}", "call")
        phone.wait_and_wake()
        caller.finish()
    silent = wire.phone(server, "silent", push=mpush_android())
    silent.answers = {}
    silent.register(600, None, "User-Agent: Sleeper/1.2 (Bob's phone)")
    assert wire.call(server, "silent").wait_final(10).status == 480
    token = f"unregistered{uuid.uuid4().hex}"
    gone = wire.phone(server, "gone", push=Push("gone", token, contact=";pn-provider=fcm;pn-param=com.example;pn-prid=@TOKEN@"))
    gone.answers = {}
    gone.register()
    assert wire.call(server, "gone").wait_final(10).status == 480
    phone = actors.phone(server, "hasty", mpush_android())
    phone.register()
    call = wire.call(server, "hasty")
    simulator.wait_push(phone.push.token)
    call.cancel()
    assert call.wait_final().status == 487


def test_names_and_types_are_as_prometheus_wants_them(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    answer = client.curl("/metrics")
    assert answer.header("content-type").startswith("text/plain; version=0.0.4")
    done = subprocess.run(["promtool", "check", "metrics"], input=answer.body, capture_output=True, text=True,
                          timeout=30, check=False)
    assert done.returncode == 0 and not done.stderr and not done.stdout, done.stderr + done.stdout
    version = subprocess.run([PUSHWAKE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert f'pushwake_info{{version="{version}"}} 1\n' in answer.body


def test_alert_rules_ring_when_they_should_and_only_then():
    for command in (["check", "rules", RULES], ["test", "rules", ROOT / "Tests/e2e/operation/prometheus-rules-test.yml"]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def queries_and_links():
    """What alerts and panels ask, and where they lead."""
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [rule["expr"] for rule in rules] + [target["expr"] for panel in panels for target in panel["targets"]]
    links = [rule["annotations"]["runbook_url"] for rule in rules] + [panel["links"][0]["url"] for panel in panels]
    return queries, links


def test_every_alert_and_every_panel_leads_to_a_section_of_the_manual():
    headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "operations.md").read_text(), re.M)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for link in queries_and_links()[1]:
        page, anchor = re.fullmatch(r"(?:\$\{docs\}|https://docs\.example\.org/pushwake)/(.*)#(.*)", link).groups()
        assert page == "operations.md" and anchor in anchors, link


def test_every_query_names_metrics_that_there_are(make_engine, tmp_path):
    _, client = listen(make_engine, tmp_path, hep_capture="127.0.0.1:9060")
    known = set(re.findall(r"^# TYPE (\w+) ", client.curl("/metrics").body, re.M))
    for query in queries_and_links()[0]:
        for name in re.findall(r"\bpushwake_\w+", query):
            is_known = name in known or re.sub("_(bucket|count|sum)$", "", name) in known
            assert is_known or name.startswith("pushwake_canary_"), query


def test_the_dashboard_has_units_and_words_for_what_it_shows():
    panels = {panel["title"]: panel["fieldConfig"]["defaults"] for panel in json.loads(DASHBOARD.read_text())["panels"]}
    assert all(defaults["unit"] for defaults in panels.values())
    words = {title: [word["text"] for word in defaults["mappings"][0]["options"].values()]
             for title, defaults in panels.items() if "mappings" in defaults}
    assert words["Providers reached"] == ["unreachable", "reached"] and words["Store"] == ["down", "usable"]
    assert words["Load level"] == ["low", "normal", "high", "very high", "extreme"]
    assert len([defaults for defaults in panels.values() if len(defaults.get("thresholds", {}).get("steps", [])) > 1]) > 8


def test_the_dashboard_shows_what_calls_have_done(watched, wire, actors, simulator):
    server, client, prometheus = watched
    wait_until("the first look", lambda: prometheus.value('up{job="pushwake"}') == 1, 20)
    play_calls(server, actors, wire, simulator)
    cancelled = 'pushwake_caller_wait_seconds_count{end="cancelled"}'
    wait_until("the end of the last call", lambda: series(client.curl("/metrics").body, cancelled) >= 1)
    released = "pushwake_register_to_request_seconds_count"
    wait_until("the word of the legs", lambda: series(client.curl("/metrics").body, released) >= 1)
    text = client.curl("/metrics").body
    assert series(text, 'pushwake_caller_wait_seconds_count{end="rang"}') >= 2
    assert series(text, 'pushwake_caller_wait_seconds_count{end="timed-out"}') >= 1
    assert series(text, 'pushwake_wake_seconds_count{provider="fcm"}') >= 2
    assert series(text, "pushwake_calls_total") == 5
    assert series(text, 'pushwake_app_wakes_total{app_version="other",result="came"}') == 2
    assert series(text, 'pushwake_app_wakes_total{app_version="Sleeper/1.2",result="did-not-come"}') == 1
    assert series(text, 'pushwake_push_refusals_total{provider="fcm",reason="UNREGISTERED"}') >= 1
    assert series(text, 'pushwake_bindings_removed_total{reason="token-gone"}') == 1
    assert series(text, 'pushwake_push_answer_seconds_count{provider="fcm"}') >= 4
    assert series(text, "pushwake_request_to_push_seconds_count") >= 4
    assert series(text, 'pushwake_pushes_total{provider="fcm",outcome="accepted"}') >= 4
    assert series(text, 'pushwake_provider_connections{provider="fcm"}') >= 1
    assert not [word for word in ("woken0", "silent", "hasty", "alice", "sip:", "com.example") if word in text]
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 25
    began = time.time() - 60
    # Prometheus reads once a second; the last calls may be missing from its first answers.
    wait_until("nothing on the dashboard is empty", lambda: not [
        query for query in queries if is_empty(prometheus, query, began)], 30, step=1)


def test_the_dashboard_can_be_drawn_without_grafana(watched, wire, actors, simulator, tmp_path):
    """PUSHWAKE_PICTURES=docs/pictures keeps the picture, of a longer look."""
    server, _, prometheus = watched
    kept = os.environ.get("PUSHWAKE_PICTURES")
    end = time.time() + (60 if kept else 1)
    while time.time() < end:
        number = int(end - time.time())
        phone = actors.phone(server, f"drawn{number}", mpush_android() if number % 2 else mpush_ios())
        phone.register()
        caller = actors.call(server, phone.user, "call")
        phone.wait_and_wake()
        caller.finish()
    wait_until("Prometheus has them", lambda: (prometheus.value("sum(pushwake_push_answer_seconds_count)") or 0) >= 1, 20)
    picture = pathlib.Path(kept or tmp_path) / "grafana.png"
    done = subprocess.run(["/usr/bin/python3", ROOT / "scripts/docs/dashboard_picture.py",
                           f"http://127.0.0.1:{prometheus.port}", picture, "1.2"],
                          capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and picture.stat().st_size > 40_000


def is_empty(prometheus, query, began):
    """Whether a query of the dashboard gives no number at all."""
    query = query.replace("$__rate_interval", "60s").replace("$__range", "60s").replace("$instance", ".*")
    if "certificate" in query:
        return False  # of the test with a certificate
    result = prometheus.get("query_range", query=query, start=began, end=time.time(), step=1)["result"]
    return not any(not math.isnan(float(value)) for entry in result for _, value in entry["values"])


def series(text, name):
    found = [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.rsplit(" ", 1)[0] == name]
    assert found, f"{name} is missing from\n{text}"
    return float(found[0])


def test_a_certificate_shows_when_it_ends(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    left = series(client.curl("/metrics").body,
                  'pushwake_certificate_expiry_timestamp_seconds{setting="http_cert",file=""}') - time.time()
    assert 23 * 3600 < left < 25 * 3600


def test_kamailio_shows_the_counters_of_the_module_itself(make_kamailio, wire, actors):
    page = (ROOT / "docs" / "http.md").read_text()
    lines = re.search(r"^```\n(tcp_accept_no_cl=yes\n.*?)^```", page, re.M | re.S)[1].splitlines(keepends=True)
    config = CALLS.read_text().replace("auto_aliases=no\n", "auto_aliases=no\n" + lines[0])
    config = config.replace('loadmodule "ctl.so"\n', 'loadmodule "ctl.so"\n' + "".join(lines[1:4])) + "\n" + lines[4]
    server = make_kamailio(config=config, wake_timeout=1).start().wait_engine()
    phone = actors.phone(server, "counted", mpush_android())
    phone.register()
    caller = actors.call(server, "counted", "call")
    phone.wait_and_wake()
    caller.finish()

    def text():
        done = subprocess.run(["curl", "-s", "--max-time", "5", f"http://127.0.0.1:{server.port}/metrics"],
                              capture_output=True, text=True, timeout=10, check=False)
        return done.stdout
    wait_until("the call is counted", lambda: re.search(r"^kamailio_pushwake_answered 1 ", text(), re.M), step=0.2)
    found = text()
    assert re.search(r"^kamailio_pushwake_holding 0 ", found, re.M) and re.search(r"^kamailio_pushwake_held 1 ", found, re.M)
