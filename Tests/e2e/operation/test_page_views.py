# SPDX-License-Identifier: MIT
"""The views of the page: calls by what became of them, phones and how they are found, and a trial of a phone."""

import re
import subprocess
import urllib.parse

import pytest

from peers.browser import CHROMIUM, Browser
from peers.http_client import TOKEN, served
from phones import mpush_android, rfc8599_fcm
from ports import free_port
from servers import CALLS, wait_until

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed")
FORM = ("-H", "Content-Type: application/x-www-form-urlencoded")


@pytest.fixture
def make_served(make_kamailio, tmp_path):
    def make(wake_timeout=3, **settings):
        page, client = served(tmp_path)
        server = make_kamailio(config=CALLS.read_text(), wake_timeout=wake_timeout, settings={**page, **settings})
        server.set_up(**{name: str(value).replace("@PORT@", str(server.port)) for name, value in settings.items()})
        return server.start().wait_engine(), client

    return make


def text(client, path):
    answer = client.curl(path)
    assert answer.status == 200, answer.body
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.body))


def rows(client, path):
    """Class and text of each row of the table."""
    found = re.findall(r'<tr class="([a-z-]+)">(.*?)</tr>', client.curl(path).body)
    return [(style, re.sub(r"<[^>]*>", " ", cells)) for style, cells in found]


def asleep(wire, server, user, push=rfc8599_fcm):
    phone = wire.phone(server, user, "tcp", push())
    phone.register()
    return phone.sleep()


def lost(wire, server, user):
    asleep(wire, server, user)
    assert wire.call(server, user).wait_final(10).status == 480


def rang_and_hung_up(wire, server, user):
    phone = wire.phone(server, user, "tcp", rfc8599_fcm())
    phone.answers["INVITE"] = (180,)
    phone.register()
    call = wire.call(server, user)
    call.wait_status(180)
    call.cancel()
    call.wait_final(10)


def hung_up_before(wire, server, user):
    asleep(wire, server, user)
    call = wire.call(server, user)
    call.wait_status(100)
    call.cancel()
    call.wait_final(10)


def late(wire, server, user):
    phone = asleep(wire, server, user)
    assert wire.call(server, user).wait_final(10).status == 480
    wire.again(phone).register()


def test_a_call_has_the_colour_of_what_became_of_it(make_served, wire):
    server, client = make_served()
    for play, style in [(lost, "lost"), (rang_and_hung_up, "rang"), (hung_up_before, "early"), (late, "late")]:
        play(wire, server, f"is-{style}")
        wait_until(f"a call that is {style}", lambda style=style: [
            found for found, words in rows(client, "/calls") if f"is-{style}" in words] == [style])
    assert {style for style, _ in rows(client, "/calls?failed=1")} == {"lost", "late"}
    assert [style for style, _ in rows(client, "/calls?user=IS-R&minutes=15")] == ["rang"]
    assert len(rows(client, "/calls?provider=fcm")) == 4 and not rows(client, "/calls?provider=apns")
    assert "No call or message is like that" in text(client, "/calls?user=nobody")
    assert re.search(r"<th scope=\"col\">Time, [A-Z+0-9-]+</th>", client.curl("/calls").body)
    assert re.search(r"<td><time datetime=\"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d\"", client.curl("/calls").body)
    assert "1 rang 1 hung up before 2 lost" in text(client, "/")


def test_more_than_one_page_of_calls(make_served, wire):
    server, client = make_served(wake_timeout=1)
    phone = wire.phone(server, "busy", "tcp", rfc8599_fcm())
    phone.answers["INVITE"] = (486,)
    phone.register()
    for number in range(55):
        wire.call(server, "busy", call_id=f"many-{number}@x").wait_final(10)
    first = client.curl("/calls").body
    older = re.search(r'href="(/calls\?before=\d+)">Older', first)[1]
    rest = client.curl(older).body
    assert len(rows(client, "/calls")) == 50 and len(rows(client, older)) == 5
    assert "many-54%40x" in first and "many-5%40x" in first and "many-4%40x" in rest and "many-0%40x" in rest
    assert "Newest" in rest and "Older" not in rest


def test_phones_are_found_by_what_people_type(make_served, wire, actors):
    server, client = make_served(wake_timeout=1)
    lost(wire, server, "carol.long")
    wire.call(server, "carol.long", call_id="word-77@pbx.example").wait_final(10)
    wire.phone(server, "carl", "udp", rfc8599_fcm()).register()
    assert {words.split()[0] for _, words in rows(client, "/phones")} == {"carol.long", "carl"}
    assert ["carol.long" in words for _, words in rows(client, "/phones?user=LONG")] == [True]
    assert ["woke 0" in words for _, words in rows(client, "/phones?show=never")] == [True]
    assert "No phone is like that" in text(client, "/phones?show=unseen")
    # A part leads to the list, and to the user where it fits one alone.
    assert len(rows(client, "/?q=CAR")) == 2
    alone = client.curl("/?q=Long")
    assert alone.status == 303 and alone.header("location") == "/?q=carol.long"
    for query in ("carol.long", "sip:carol.long", "<sip:carol.long;user=phone>", " carol.long "):
        found = text(client, f"/?q={urllib.parse.quote(query)}")
        assert "The way of a call to carol.long" in found and "Last wake" in found and "never" in found, query
        assert "Report for the app's developer" in found and "no REGISTER" in found
    for query in ("word-77@pbx.example", "word-77"):
        assert "INVITE to carol.long" in text(client, f"/?q={query}"), query
    assert "Nothing found" in text(client, "/?q=word")


def test_what_needs_attention_comes_first(make_served, wire):
    server, client = make_served(fcm_url=f"https://127.0.0.1:{free_port()}", wake_timeout=1)
    asleep(wire, server, "cut-off")
    wire.call(server, "cut-off").wait_final(10)
    found = wait_until("the reason", lambda: (page := text(client, "/")) and "fcm is unreachable" in page and page)
    assert found.index("Needs attention") < found.index("Push services")
    assert "Connection refused" in found and "compare fcm_url" in found
    assert "answers in" not in found


def test_a_picture_can_be_kept(make_served, wire):
    server, client = make_served(wake_timeout=1)
    lost(wire, server, "kept")
    place = re.search(r'href="(/call\.svg\?number=\d+)"', client.curl("/?q=kept").body)[1]
    answer = client.curl(place)
    assert answer.header("content-type") == "image/svg+xml" and "attachment" in answer.header("content-disposition")
    assert answer.body.startswith("<svg") and "no REGISTER" in answer.body and "<style>" in answer.body
    assert client.curl("/call.svg?number=999999").status == 404


def attempt(client, user, *options, operator=True):
    return client.curl("/try", "--max-time", "60", *FORM, "--data-urlencode", f"user={user}", *options, operator=operator)


class Attempt:
    """curl, whose output is read as it comes."""

    def __init__(self, client, user):
        self.process = subprocess.Popen([
            "curl", "-sN", "--max-time", "60", *FORM, "-H", f"Authorization: Bearer {TOKEN}", "--data-urlencode",
            f"user={user}", client.url + "/try"], stdout=subprocess.PIPE, text=True)

    def line_with(self, word):
        return next(line for line in iter(self.process.stdout.readline, "") if word in line)

    def rest(self):
        return self.process.communicate(timeout=60)[0]


def test_a_phone_is_tried_from_the_page(make_served, wire, simulator):
    server, client = make_served(wake_timeout=10, node_uri="sip:127.0.0.1:@PORT@")
    phone = asleep(wire, server, "tried-here", mpush_android)
    assert 'action="/try"' in client.curl("/?q=tried-here").body
    trial = Attempt(client, "tried-here")
    assert trial.line_with("Google answers 200").startswith("ok")
    # The phone sleeps on: what was printed so far is there already, and another has to wait.
    other = attempt(client, "tried-here")
    assert other.status == 429 and "under way" in other.body
    simulator.wait_push(phone.push.token)
    woken = wire.again(phone, "tcp")
    woken.answers = {"INVITE": (180,)}
    woken.register()
    assert trial.line_with("100/180").startswith("ok")
    assert "No step is missing" in trial.rest()
    assert attempt(client, "nobody-has-this").body.count("MISSING") == 1
    for _ in range(6):
        last = attempt(client, "nobody-has-this")
    assert last.status == 429 and last.header("retry-after") == "60"
    server.wait_none_held()


@needs_chromium
def test_the_button_shows_each_step_as_it_happens(make_served, wire, tmp_path):
    server, client = make_served(wake_timeout=10, node_uri="sip:127.0.0.1:@PORT@")
    phone = asleep(wire, server, "clicked", mpush_android)
    with Browser(tmp_path) as browser:
        browser.open(client.signed_in("/?q=clicked"))

        def shows(word):
            wait_until(word, lambda: word in browser.run("document.getElementById('trial').textContent"), 20)

        assert browser.run("document.getElementById('trial').hidden")
        browser.run("document.querySelector('#try button').click()")
        shows("Google answers 200")
        assert browser.run("document.querySelector('#try button').disabled")
        woken = wire.again(phone, "tcp")
        woken.answers = {"INVITE": (180,)}
        woken.register()
        shows("100/180")
        shows("No step is missing")
        wait_until("the button", lambda: not browser.run("document.querySelector('#try button').disabled"))
        # The page beside it goes on as ever.
        wait_until("the call", lambda: "INVITE to clicked" in browser.run("document.getElementById('main').textContent"), 20)
        assert not browser.complaints, browser.complaints


def test_only_operators_try_phones_and_no_other_site(make_served, wire):
    _, client = make_served()
    assert client.curl("/try").status == 405
    assert attempt(client, "bob", operator=False).status == 401
    assert attempt(client, "bob", "-u", "other:toor", operator=False).status == 403
    for header in ("Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Origin: null"):
        assert attempt(client, "bob", "-H", header).status == 403, header
    assert client.curl("/try", "-X", "POST", "-H", "Content-Type: text/plain", "-d", "user=bob").status == 415
    for name in ("", "<script>", "b ob", "a;b", "x?y", "ümlaut"):
        assert attempt(client, name).status == 400, name
