# SPDX-License-Identifier: MIT
"""What becomes of a push reaches the script; what is stored can be asked and changed over RPC."""

import json
import socket
import uuid

from phones import Push, mpush_android, mpush_ios, rfc8599_apns, rfc8599_fcm
from servers import CONFIG, wait_until


def removal(kamailio, user):
    """Why the binding of a user was removed; empty while it is in use."""
    lines = [line.strip() for line in kamailio.rpc("pushwake.list", user).splitlines()]
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("removed:"))


def test_the_event_route_hears_of_an_accepted_push(kamailio, actors):
    phone = actors.phone(kamailio, "heard", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "heard", "call")
    phone.wait_and_wake()
    caller.finish()
    kamailio.wait_log("RESULT provider=apns outcome=accepted aor=heard status=200 removed=0")


def test_a_dead_token_is_forgotten(kamailio, actors):
    token = f"unregistered-{uuid.uuid4().hex}"
    phone = actors.phone(kamailio, "gone", Push("dead", token, header="X-MPUSH: a:com.example.phone:@TOKEN@"))
    phone.register()
    assert removal(kamailio, "gone") == ""
    caller = actors.call(kamailio, "gone", "call")
    kamailio.wait_log("RESULT provider=fcm outcome=token-gone aor=gone status=404 removed=1")
    assert removal(kamailio, "gone") != ""
    caller.stop()


def test_rpc_lists_sends_and_removes(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "remote", mpush_android())
    phone.register()
    listed = kamailio.rpc("pushwake.list", "remote")
    assert "provider: fcm" in listed and "app: com.example.phone" in listed
    assert phone.push.token not in listed, "tokens are shortened"

    assert kamailio.rpc("pushwake.send", "chat", "remote", "hello there").strip() == "1"
    push = simulator.wait_push(phone.push.token)
    assert "hello there" in str(push["body"])

    assert "removed: 1" in kamailio.rpc("pushwake.remove", "remote")
    assert removal(kamailio, "remote") == "by hand"
    assert "404 - not found: remote has no push binding" in kamailio.complaint("pushwake.send", "chat", "remote")
    assert kamailio.rpc("pushwake.send", "song", "remote") is None


def test_the_event_route_leaves_no_variables_to_the_next(make_kamailio, actors, simulator):
    route = "event_route[pushwake:result] {"
    kamailio = make_kamailio(config=CONFIG.read_text().replace(route, route + """
    xlog("L_NOTICE", "LEFT avp=$avp(left) xavp=$xavp(left=>user)\\n");
    $avp(left) = $pushwake(aor);
    $xavp(left=>user) = $pushwake(aor);""")).start().wait_engine()
    phone = actors.phone(kamailio, "remote", mpush_android())
    phone.register()
    for number in range(3):
        assert kamailio.rpc("pushwake.send", "chat", "remote", f"text {number}").strip() == "1"
    simulator.wait_push(phone.push.token, after=2)
    wait_until("three results", lambda: kamailio.log_text().count("LEFT ") == 3)
    assert kamailio.log_text().count("LEFT avp=<null> xavp=<null>") == 3


def test_rpc_lists_everybody(kamailio, actors):
    for user in ("all1", "all2"):
        actors.phone(kamailio, user, mpush_android()).register()
    listed = kamailio.rpc("pushwake.list")
    assert "aor: all1" in listed and "aor: all2" in listed


def test_rpc_lists_and_removes_what_fits(kamailio, actors):
    for user, push in (("fits1", mpush_android()), ("fits1", rfc8599_apns()), ("fits2", mpush_android())):
        actors.phone(kamailio, user, push).register()
    listed = kamailio.rpc("pushwake.list", "user=fits*", "provider=fcm")
    assert listed.count("provider: fcm") == 2 and "apns" not in listed
    assert kamailio.rpc("pushwake.show", "fits1").count("aor: fits1") == 2
    assert "removed: 1" in kamailio.rpc("pushwake.remove", "fits1", "provider=fcm")
    assert kamailio.rpc("pushwake.show", "fits1").count("provider: apns") == 1
    assert "aor: fits2" in kamailio.rpc("pushwake.list", "fits2")


def test_rpc_says_what_is_wrong_with_conditions(kamailio):
    assert "which user?" in kamailio.complaint("pushwake.remove")
    assert "which user?" in kamailio.complaint("pushwake.show")
    assert "colour" in kamailio.complaint("pushwake.list", "colour=blue")
    assert "too long" in kamailio.complaint("pushwake.list", f"user={'a' * 2000}")
    assert kamailio.rpc("pushwake.remove", "provider=fcm") is None, "not those of everybody"


class JSONRPC:
    """Commands over the datagram socket of Kamailio's module jsonrpcs."""

    def __init__(self, kamailio):
        self.server = str(kamailio.directory / "json")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(kamailio.directory / "json.client"))
        self.socket.settimeout(5)

    def answer(self, method, *parameters):
        request = {"jsonrpc": "2.0", "method": method, "params": parameters, "id": 1}
        self.socket.sendto(json.dumps(request).encode(), self.server)
        return json.loads(self.socket.recv(65536))

    def result(self, method, *parameters):
        return self.answer(method, *parameters)["result"]


def test_json_rpc_says_the_same(make_kamailio, actors, simulator):
    kamailio = make_kamailio()
    config = kamailio.config.read_text().replace(
        'modparam("ctl"', f'loadmodule "jsonrpcs.so"\nmodparam("jsonrpcs", "dgram_socket", "{kamailio.directory}/json")\nmodparam("ctl"', 1)
    kamailio.config.write_text(config)
    kamailio.start().wait_engine()
    phones = {user: actors.phone(kamailio, user, mpush_android()) for user in ("json1", "json2", "1001", "4711")}
    for phone in phones.values():
        phone.register()
    rpc = JSONRPC(kamailio)
    stats = rpc.result("pushwake.stats")
    assert stats["kamailio_stored"] == 4 and stats["bindings_stored"] == 4
    assert {row["aor"] for row in rpc.result("pushwake.list")} == {"json1", "json2", "1001", "4711"}
    assert [row["aor"] for row in rpc.result("pushwake.list", "json2")] == ["json2"]
    for unreadable in ({"provider": "apns"}, ["provider=apns"], None, True):
        said = rpc.answer("pushwake.remove", "json2", unreadable)["error"]["message"]
        assert "parameter 2 is neither" in said, "it is no command without that condition"
    assert rpc.result("pushwake.remove", "json2", "provider=apns") == {"removed": 0}
    # Numbers of JSON: Kamailio writes all of them to one place.
    assert rpc.result("pushwake.send", "chat", 1001, 4711) == 1
    assert "4711" in json.dumps(simulator.wait_push(phones["1001"].push.token)["body"])
    assert simulator.pushes(phones["4711"].push.token) == []


def test_rpc_takes_a_user_of_digits(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "4711", mpush_android())
    phone.register()
    assert "aor: 4711" in kamailio.rpc("pushwake.list", "4711")
    assert kamailio.rpc("pushwake.send", "chat", "4711", "42").strip() == "1"
    assert "42" in str(simulator.wait_push(phone.push.token)["body"])
    assert "removed: 1" in kamailio.rpc("pushwake.remove", "4711")


def test_rpc_sends_to_a_token_with_what_it_needs_by_name(kamailio, simulator):
    def push(token, *parameters):
        assert kamailio.rpc("pushwake.send", *parameters, f"token={token}").strip() == "1"
        return simulator.wait_push(token)

    apple = rfc8599_apns().token
    sent = push(apple, "call", "platform=apns", "package=com.example.phone", "service=voip", "environment=sandbox",
                "from=1111", "name=Ann = Bob")
    assert sent["headers"]["apns-topic"] == "com.example.phone.voip"
    assert "Ann = Bob" in str(sent["body"]) and "1111" in str(sent["body"])
    sent = push(rfc8599_apns().token, "missed", "platform=apns", "package=com.example.phone", "push-type=background")
    assert sent["headers"]["apns-push-type"] == "background"
    for parameters in (["chat", "platform=apns"], ["chat", "platform=apns", "colour=red", "x", "token=00"],
                       ["chat", "platform=apns", "push-type=voip", "token=00"], ["chat", "bob", "token=00"]):
        assert kamailio.rpc("pushwake.send", *parameters) is None


def test_the_script_can_push(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "scripted", rfc8599_fcm())
    phone.register()
    answer = actors.call(kamailio, "push-scripted", "call_fails", code=486).finish()
    assert answer.statuses[-1] == 486
    assert simulator.wait_push(phone.push.token)["status"] == 200


def test_counters_tell_what_happened(kamailio, actors):
    before = {name: kamailio.counter(f"kamailio_{name}") for name in ("stored", "held", "joined", "answered")}
    phone = actors.phone(kamailio, "counted", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "counted", "call")
    phone.wait_and_wake()
    caller.finish()
    for name, value in before.items():
        expected = value + (2 if name == "stored" else 1)
        assert kamailio.counter(f"kamailio_{name}") == expected, name


def test_a_worker_never_sends_the_token_to_the_log(kamailio, actors):
    phone = actors.phone(kamailio, "discreet", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "discreet", "call")
    phone.wait_and_wake()
    caller.finish()
    assert phone.push.token not in kamailio.log_text()
