# SPDX-License-Identifier: MIT
"""Everybody can read the page and needs no mouse: axe-core looks at each of its states, light and dark, as wide as a desk
and as a phone. PUSHWAKE_PICTURES=docs/pictures keeps pictures."""

import os
import pathlib
import subprocess

import pytest

from peers.browser import AXE, CHROMIUM, Browser
from peers.http_client import served
from phones import mpush_ios, rfc8599_fcm
from ports import free_port
from servers import CALLS, PUSHWAKE, wait_until

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed"),
    pytest.mark.skipif(not AXE, reason="make setup-test has not got axe-core from PyPI"),
]

LONG = "a-name-as-long-as-those-of-machines-1234567890.branch.example"


@pytest.fixture
def make_served(make_kamailio, tmp_path):
    def make(**settings):
        page, client = served(tmp_path)
        server = make_kamailio(config=CALLS.read_text(), wake_timeout=1, settings={**page, **settings})
        server.set_up(node_uri=f"sip:127.0.0.1:{server.port}")
        return server.start().wait_engine(), client

    return make


def play(server, wire):
    """Calls of each end, phones of each kind, and much that needs attention."""
    def sleeper(user, push=rfc8599_fcm):
        phone = wire.phone(server, user, "tcp", push())
        phone.register()
        return phone.sleep()

    for user, answers in (("rang", (180, 200)), ("busy", (486,))):
        phone = wire.phone(server, user, "tcp", rfc8599_fcm())
        phone.answers["INVITE"] = answers
        phone.register()
        wire.call(server, user).wait_final(10)
    sleeper("early")
    call = wire.call(server, "early")
    call.wait_status(100)
    call.cancel()
    call.wait_final(10)
    phone = sleeper("late")
    wire.call(server, "late").wait_final(10)
    wire.again(phone).register()
    sleeper(LONG)
    wire.call(server, LONG).wait_final(10)
    sleeper("cut-off", mpush_ios)
    wire.call(server, "cut-off").wait_final(10)
    sleeper("gone")
    subprocess.run([PUSHWAKE, "bindings", "remove", "gone", "--socket", server.directory / "engine.sock"], check=True)


STATES = {
    "overview": "/", "calls": "/calls", "failed": "/calls?failed=1&minutes=15", "no-calls": "/calls?user=none",
    "phones": "/phones", "no-phones": "/phones?user=none&show=unseen", "rang": "/?q=rang", "busy": "/?q=busy",
    "early": "/?q=early", "user": "/?q=late", "long": f"/?q={LONG}", "cut-off": "/?q=cut-off", "gone": "/?q=gone",
    "nothing": "/?q=nobody-at-all", "nowhere": "/nowhere",
}
EMPTY = {"empty-overview": "/", "empty-calls": "/calls", "empty-phones": "/phones"}

UNLIMITED = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}

# axe leaves text in pictures out.
CONTRAST = """(() => {
  const lightness = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 });
    return .2126 * r + .7152 * g + .0722 * b };
  const numbers = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const ground = lightness(numbers(getComputedStyle(document.body).backgroundColor));
  return [...document.querySelectorAll('svg text')].filter((e) => {
    const own = lightness(numbers(getComputedStyle(e).fill));
    return (Math.max(own, ground) + .05) / (Math.min(own, ground) + .05) < 4.5 }).map((e) => e.textContent);
})()"""

# A wide window has the picture, a narrow one the list.
SHOWN = "[...document.querySelectorAll('.flow, .sequence')].filter((e) => e.checkVisibility()).map((e) => e.classList[0])[0]"

FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e);
  return [e.tagName, e.textContent.slice(0, 30) || e.name, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
    e.getClientRects().length > 0] })()"""


@pytest.mark.parametrize("width", [360, 1200])
def test_everybody_can_read_it(make_served, wire, tmp_path, width):
    server, full = make_served(apns_url=f"https://127.0.0.1:{free_port()}")
    _, bare = make_served(**dict.fromkeys(("apns_key", "apns_key_id", "apns_team_id", "fcm_key")))
    play(server, wire)
    keep = pathlib.Path(os.environ.get("PUSHWAKE_PICTURES", tmp_path))
    found = {}
    with Browser(tmp_path, width=width) as browser:
        def look(name):
            found[name] = browser.violations() + browser.run(CONTRAST)
            if browser.run("document.documentElement.scrollWidth") > width:
                found[name].append("wider than the window")
            (keep / f"page-{name}.png").write_bytes(browser.picture("html"))

        browser.open(bare.signed_in("/", "other"))
        look(f"refused-{width}")
        for theme in ("light", "dark"):
            browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            where = f"{theme}-{width}"
            for host, states in ((bare, EMPTY), (full, STATES)):
                for name, path in states.items():
                    browser.open(host.signed_in(path))
                    look(f"{name}-{where}")
            browser.open(full.signed_in(STATES["user"]))
            browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
            browser.run("document.querySelector('#try button').click()")
            wait_until("the trial", lambda: "MISSING" in browser.run("document.getElementById('trial').textContent"), 40)
            look(f"tried-{where}")
            assert browser.run(SHOWN) == ("flow" if width == 360 else "sequence")
            browser.open(full.signed_in())
            browser.ask("Network.emulateNetworkConditions", offline=True, **UNLIMITED)
            browser.run("look()")
            look(f"offline-{where}")
            browser.ask("Network.emulateNetworkConditions", offline=False, **UNLIMITED)
    assert not any(found.values()), "\n".join(f"{name}: {each}" for name, all in found.items() for each in all)


def test_nobody_needs_a_mouse(make_served, wire, tmp_path):
    server, client = make_served()
    phone = wire.phone(server, "carol", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.call(server, "carol").wait_final(10)
    with Browser(tmp_path) as browser:
        browser.open(client.signed_in("/?q=carol"))
        seen = []
        while True:
            browser.press("Tab", 9)
            tag, words, is_marked, is_there = browser.run(FOCUS)
            if tag == "BODY":
                break
            assert is_marked and is_there, (tag, words)
            seen.append(words)
            assert len(seen) < 60
        assert [word for word in ("To the content", "Search", "Download", "Line by line", "Try") if word not in seen] == []
        width = "document.querySelector('.sequence').getBoundingClientRect().width"
        before = browser.run(f"document.querySelector('.scroll').focus() || {width}")
        for key, compare in (("+", "__gt__"), ("0", "__eq__"), ("-", "__lt__")):
            browser.press(key)
            assert getattr(browser.run(width), compare)(before), key
        assert not browser.complaints, browser.complaints

