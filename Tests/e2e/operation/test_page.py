# SPDX-License-Identifier: MIT
"""The page at /: calls as pictures, why a phone did not ring, and nothing that a caller can do to it. A real browser
shows it, headless."""

import html.parser
import os
import pathlib
import re
import socket
import urllib.parse

import pytest

import peers.http_client
from peers.browser import CHROMIUM, Browser
from phones import mpush_android, rfc8599_fcm
from servers import CALLS, wait_until

VOID = {"meta", "link", "input", "br"}


class Page(html.parser.HTMLParser):
    """Reads a page: every element is closed where it should be, and the text of each is known."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def served(make_kamailio, tmp_path):
    settings, client = peers.http_client.served(tmp_path)
    return make_kamailio(config=CALLS.read_text(), wake_timeout=2, settings=settings).start().wait_engine(), client


def show(client, query=""):
    answer = client.curl("/" + (f"?q={urllib.parse.quote(query)}" if query else ""))
    assert answer.status == 200 and answer.header("content-type") == "text/html; charset=utf-8"
    policy = answer.header("content-security-policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy
    page = Page(answer.body)
    assert not [a for _, a in page.elements if "style" in a or any(name.startswith("on") for name in a)]
    assert [a.get("src") for a in page.all("script")] == ["/live.js"]
    return page


def test_a_call_has_its_picture_and_its_lines(served, actors):
    server, client = served
    assert "There was none since the engine started" in show(client).text
    phone = actors.answered(server, "painted", mpush_android())
    page = wait_until("the end of the call", lambda: (
        p := show(client)) and "answered after" in p.text and p)
    assert "INVITE to painted from" in page.text and "fcm ready" in page.text
    links = [a["href"] for a in page.all("a")]
    assert "/?q=painted" in links
    call_id = next(urllib.parse.unquote(link[4:]) for link in links if link.startswith("/?q=") and "%40" in link)
    for query in ("painted", call_id):
        found = show(client, query)
        labels = re.findall(r"(INVITE|push \(call\)|call: accepted|REGISTER|180|200|answered)(?= |$)", found.text)
        picture = ["INVITE", "push (call)", "call: accepted", "REGISTER", "INVITE", "180", "200"]
        assert "caller PBX fcm phone 1" in found.text
        places = iter(labels)
        assert all(label in places for label in picture), labels
        assert len(found.all("svg")) == 1 and found.all("svg")[0]["role"] == "img" and found.all("svg")[0]["aria-label"]
        assert found.all("input")[0]["value"] == query and phone.push.token not in found.text
    assert "Do: nothing: a call to painted rings" in show(client, "painted").text
    assert "Nothing found" in show(client, "nobody").text


def test_a_caller_named_script_is_text(served, wire, actors):
    server, client = served
    actors.phone(server, "victim", mpush_android()).register()
    caller = wire.caller(server, name="%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    call = caller.call("victim", call_id="<script>alert(2)</script>@x")
    assert call.wait_final(10).status == 480
    assert "<script>alert(2)</script>@x" in show(client, "victim").text
    for query in ("", "victim", "<script>alert(3)</script>", "\"onload=alert(4) x=\""):
        page = show(client, query)
        assert [a.get("src") for a in page.all("script")] == ["/live.js"]


def test_only_operators_see_it(served):
    server, client = served
    for path in ("/", "/style.css", "/live.js"):
        assert client.curl(path, operator=False).status == (200 if path == "/style.css" else 401)
        assert client.curl(path, "-u", "root:toor", operator=False).status == 200
        assert client.curl(path, "-X", "POST").status == 405
    for path, status, words in [("/", 401, "Unauthorized Say who you are. Sign in"), ("/nowhere", 404, "There is nothing at this path")]:
        refused = client.curl(path, "-H", "Accept: text/html,*/*;q=0.8", operator=False)
        assert refused.status == status and words in Page(refused.body).text and "default-src 'none'" in refused.header(
            "content-security-policy")
        assert socket.gethostname() not in refused.body and "0.1" not in refused.body
        assert list(client.curl(path, operator=False).json) == ["error"]
    assert client.curl("/style.css").header("content-type").startswith("text/css")
    assert client.curl("/live.js").header("content-type").startswith("text/javascript")


needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed")


def never_wakes(server, wire):
    asleep = wire.phone(server, "carol", "udp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    assert wire.call(server, "carol").wait_final(10).status == 480
    return "carol", ["INVITE", "push (call)", "call: accepted", "timed out"]


def rings_twice(server, wire):
    phones = [wire.phone(server, "dave", "tcp", rfc8599_fcm()) for _ in range(2)]
    phones[1].answers["INVITE"] = (180,)
    for phone in phones:
        phone.register()
    wire.call(server, "dave").wait_status(200)
    phones[1].wait_request("CANCEL")
    return "dave", ["INVITE", "180", "200"]


def comes_late(server, wire):
    asleep = wire.phone(server, "frank", "udp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    assert wire.call(server, "frank").wait_final(10).status == 480
    wire.again(asleep).register()
    return "frank", ["INVITE", "push (call)", "timed out", "REGISTER"]


@needs_chromium
@pytest.mark.parametrize("play", [never_wakes, rings_twice, comes_late])
def test_each_question_has_a_picture(served, wire, tmp_path, play):
    """PUSHWAKE_PICTURES=docs/pictures keeps them."""
    server, client = served
    user, labels = play(server, wire)
    with Browser(tmp_path, width=900) as browser:
        def shown():
            steps = iter(browser.run("[...document.querySelectorAll('svg text')].map(t => t.textContent).join('|')").split("|"))
            return all(label in steps for label in labels)
        browser.open(client.signed_in(f"/?q={user}"))
        wait_until("all steps", shown)
        picture = browser.picture("svg")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5000
    (pathlib.Path(os.environ.get("PUSHWAKE_PICTURES", tmp_path)) / f"{play.__name__.replace('_', '-')}.png").write_bytes(picture)


@needs_chromium
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_at_any_width(served, actors, tmp_path, width):
    server, client = served
    actors.answered(server, "seen", mpush_android())
    with Browser(tmp_path, width=width) as browser:
        browser.open(client.signed_in("/?q=seen"))
        wait_until("the picture", lambda: browser.run("document.querySelectorAll('svg').length") == 1)
        assert "REGISTER" in browser.run("document.body.textContent")
        # Nothing is wider than the window, but for what scrolls within itself.
        assert browser.run("document.documentElement.scrollWidth") <= browser.run("window.innerWidth")
        assert len(browser.picture()) > 5000
        assert not browser.complaints, browser.complaints


@needs_chromium
def test_an_open_page_shows_a_new_call_by_itself(served, actors, tmp_path):
    server, client = served
    with Browser(tmp_path) as overview, Browser(tmp_path) as search:
        overview.open(client.signed_in("/"))
        search.open(client.signed_in("/?q=lively"))
        wait_until("both to listen", lambda: "pushwake_http_pages 2" in client.curl("/metrics").body)
        assert "Nothing found" in search.run("document.body.textContent")
        assert "lively" not in overview.run("document.body.textContent")
        actors.answered(server, "lively", mpush_android())
        for page in (overview, search):
            wait_until("the end of the call", lambda page=page: "answered after" in page.run("document.body.textContent"))
        assert search.run("document.querySelectorAll('svg').length") == 1
        # Who has put the focus into it reads: nothing moves.
        search.run("document.querySelector('.scroll').focus()")
        actors.answered(server, "lively", mpush_android())
        wait_until("the overview", lambda: overview.run("document.body.textContent").count("INVITE to lively") == 2)
        assert search.run("document.querySelectorAll('svg').length") == 1
        search.run("document.activeElement.blur()")
        wait_until("the second picture", lambda: search.run("document.querySelectorAll('svg').length") == 2)
        for page in (overview, search):
            assert not page.complaints, page.complaints


@needs_chromium
def test_an_open_page_says_that_the_engine_is_gone_and_goes_on_with_the_next(make_engine, tmp_path):
    settings, client = peers.http_client.served(tmp_path)
    engine = make_engine(**settings)

    def is_open():
        return "pushwake_http_pages 1" in client.curl("/metrics").body

    with Browser(tmp_path) as browser:
        browser.open(client.signed_in("/"))
        wait_until("the page to listen", is_open)
        engine.stop()
        wait_until("the notice", lambda: "does not answer" in browser.run("document.getElementById('live').textContent"))
        make_engine(**settings)
        # The next engine does not know the nonce of the last one; nobody is asked for a password again.
        wait_until("the page to listen again", is_open, 20)
        wait_until("the notice to go", lambda: browser.run("document.getElementById('live').textContent") == "", 20)


@needs_chromium
def test_without_script_there_is_all_and_a_link_to_look_again(served, actors, tmp_path):
    server, client = served
    actors.answered(server, "plain", mpush_android())
    with Browser(tmp_path) as browser:
        browser.ask("Emulation.setScriptExecutionDisabled", value=True)
        browser.open(client.signed_in("/?q=plain"))
        text = wait_until("the page", lambda: "</svg>" in browser.html() and browser.html())
        assert '<a href="/?q=plain">Look again</a>' in text
        link = browser.ask("DOM.querySelector", nodeId=browser.document(), selector="noscript a")["nodeId"]
        assert browser.ask("DOM.getBoxModel", nodeId=link)["model"]["width"] > 0, "it is there to be seen"
