# SPDX-License-Identifier: MIT
"""Why did the phone not ring? The engine tells, over RPC and in the shell."""

import json
import subprocess
import uuid

from phones import Push, mpush_android, mpush_ios
from servers import PUSHWAKE, wait_until


def shell(kamailio, *arguments):
    """A subcommand that asks the engine; its exit code and what it prints."""
    done = subprocess.run([PUSHWAKE, *arguments, "--socket", kamailio.directory / "engine.sock"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def trace(kamailio, name):
    """The newest request of a user or a Call-ID, once it is over."""
    def ended():
        code, text = shell(kamailio, "trace", "--json", name)
        return code == 0 and json.loads(text)[0]["end"] and json.loads(text)[0]

    return wait_until(f"the end of {name}", ended)


def facts(request):
    return [line["what"] for line in request["lines"]]


def test_a_woken_call_leaves_its_trace(kamailio, actors):
    phone = actors.phone(kamailio, "told", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "told", "call")
    phone.wait_and_wake()
    caller.finish()
    request = trace(kamailio, "told")
    assert request["method"] == "INVITE" and request["aor"] == "told" and request["end"] == "answered"
    assert request["summary"] == "phone 1 answered"
    found = facts(request)
    order = ["phone", "pushed", "push-ended", "registered", "rung", "answer", "ended"]
    places = [found.index(what) for what in order]
    assert places == sorted(places), found
    times = [line["at_ms"] for line in request["lines"]]
    assert times == sorted(times) and times[-1] == request["end_ms"] > 0
    ended = next(line for line in request["lines"] if line["what"] == "push-ended")
    assert (ended["provider"], ended["outcome"], ended["http_status"]) == ("apns", "accepted", 200)
    rung = next(line for line in request["lines"] if line["what"] == "rung")
    assert rung["contact"] == f"sip:told@127.0.0.1:{phone.processes[-1].port}"

    code, text = shell(kamailio, "trace", request["call_id"])
    assert code == 0 and "phone 1 sleeps: pushed through apns (call)" in text
    answer = kamailio.rpc("pushwake.trace", request["call_id"])
    assert "text: apns accepts the call push to phone 1" in answer
    assert "aor: told" in kamailio.rpc("pushwake.list"), "all users"
    newest = kamailio.rpc("pushwake.trace")
    assert f"call_id: {request['call_id']}" in newest and "at_ms" not in newest
    assert phone.push.token not in text + answer

    row = json.loads(shell(kamailio, "bindings", "--json", "told")[1])[0]
    assert (row["accepted"], row["woke"], row["wake_percent"]) == (1, 1, 100)
    assert row["verdict"].startswith("wakes in ")
    assert kamailio.counter("apns_wake_p50_ms") >= 0 and kamailio.counter("apns_woke") >= 1


def test_a_phone_that_no_push_wakes(make_kamailio, actors):
    kamailio = make_kamailio(wake_timeout=1).start().wait_engine()
    actors.phone(kamailio, "deaf", mpush_android()).register()
    for _ in range(3):
        actors.call(kamailio, "deaf", "call_fails", code=480).finish()
    request = trace(kamailio, "deaf")
    assert request["summary"] == "fcm accepted the push and phone 1 did not register"
    assert "registered" not in facts(request)
    assert request["end"] == "timed out"
    verdict = "accepted 3, woke 0: notifications off?"
    assert f"verdict: {verdict}" in kamailio.rpc("pushwake.list", "deaf")
    assert verdict in shell(kamailio, "bindings", "deaf")[1]


def test_a_push_that_the_provider_refuses(kamailio, actors):
    token = f"unregistered-{uuid.uuid4().hex}"
    phone = actors.phone(kamailio, "refused", Push("dead", token, header="X-MPUSH: a:com.example.phone:@TOKEN@"))
    phone.register()
    caller = actors.call(kamailio, "refused", "call")
    kamailio.wait_log("RESULT provider=fcm outcome=token-gone aor=refused")
    request = wait_until("the push's end", lambda: json.loads(shell(kamailio, "trace", "--json", "refused")[1])[0])
    assert request["summary"] == "no push reached phone 1: token-gone UNREGISTERED"
    ended = next(line for line in request["lines"] if line["what"] == "push-ended")
    assert ended["text"].endswith("token-gone (UNREGISTERED, HTTP 404); its binding is removed")
    caller.stop()
    assert "the last push failed: token-gone" in kamailio.rpc("pushwake.list", "refused")


def test_an_rpc_tells_as_many_traces_as_fit(make_kamailio, actors):
    """Module ctl sends no more than 32 kB."""
    kamailio = make_kamailio(settings={"device_pushes": 0, "caller_pushes": 0, "aor_pushes": 0}).start().wait_engine()
    phone = actors.phone(kamailio, "busy", mpush_android())
    for _ in range(20):
        phone.register()
        actors.call(kamailio, "busy", "call_cancelled").finish()
    traces = json.loads(shell(kamailio, "trace", "--json", "busy")[1])
    assert len(traces) == 20
    answer = kamailio.rpc("pushwake.trace", "busy")
    assert 2 < answer.count("call_id: ") <= 20


def test_what_is_not_known_is_said(kamailio):
    complaint = kamailio.complaint("pushwake.trace", "4711")
    assert "404 - not found" in complaint and "there is no push binding of such a user" in complaint
    assert "404 - not found" in kamailio.complaint("pushwake.trace", "x" * 1000)
    code, text = shell(kamailio, "trace", "nobody")
    assert code == 1 and text.startswith("pushwake: none of the last ")
