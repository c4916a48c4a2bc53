# SPDX-License-Identifier: MIT
"""Console and AMI."""

import json
import os
import signal
import socket
import time

import pytest
from phones import apns_token, fcm_token
from servers import wait_until
from sleeper import apns, fcm


class Manager:
    """An AMI connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 5)
        self.buffer = b""
        while b"\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        self.buffer = self.buffer.partition(b"\r\n")[2]
        assert self.act(Action="Login", Username="test", Secret="test")["Response"] == "Success"

    def read(self):
        while b"\r\n\r\n" not in self.buffer:
            data = self.socket.recv(65536)
            assert data, "AMI closed"
            self.buffer += data
        block, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return dict(line.partition(": ")[::2] for line in block.decode().split("\r\n"))

    def wait(self, **fields):
        while True:
            message = self.read()
            if all(message.get(k) == v for k, v in fields.items()):
                return message

    def act(self, **fields):
        self.socket.sendall("".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode() + b"ActionID: 7\r\n\r\n")
        while True:
            message = self.read()
            if "Response" in message and message.get("ActionID") == "7":
                return message

    def close(self):
        self.socket.close()


@pytest.fixture
def manager(asterisk):
    manager = Manager(asterisk.ami_port)
    yield manager
    manager.close()


def test_show_bindings(phones, asterisk, user):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    one = asterisk.cli(f"pushwake show bindings {user}")
    assert user in one and "com.example.phone" in one and "1 binding" in one
    assert token not in one and token[:6] in one
    assert user in asterisk.cli("pushwake show bindings")


def test_show_bindings_has_what_was_asked_for(phones, asterisk, user):
    phones(user, asterisk.address).register(apns(apns_token()))
    for condition in (f"user={user[:2]}?", "provider=apns", "age=-1h", '"verdict=not pushed"', f"{user} provider=apns"):
        assert f"\n{user} " in asterisk.cli(f"pushwake show bindings {condition}"), condition
    for condition in ("user=x*", "provider=fcm", "age=+1h", "verdict=notifications", f"{user} age=+1h"):
        assert "0 bindings" in asterisk.cli(f"pushwake show bindings {condition}"), condition
    assert "write one of apns, fcm" in asterisk.cli("pushwake show bindings provider=google")
    assert "Usage:" in asterisk.cli(f"pushwake show bindings {user} {user}")
    assert max(map(len, asterisk.cli("pushwake show bindings").splitlines())) <= 100


def test_show_binding_has_everything(phones, asterisk, user):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    shown = asterisk.cli(f"pushwake show binding {user}")
    assert "registered_ago" in shown and "com.example.phone" in shown and "wake_percent" in shown and token not in shown
    assert "no such push binding" in asterisk.cli("pushwake show binding nobody")


def test_remove_bindings(phones, asterisk, user, manager):
    phones(user, asterisk.address).register(apns(apns_token()))
    assert "removed 0 bindings" in asterisk.cli(f"pushwake remove bindings {user} provider=fcm")
    assert "removed 1 binding\n" in asterisk.cli(f"pushwake remove bindings {user} provider=apns") + "\n"
    assert "removed: by hand" in asterisk.cli(f"pushwake show bindings {user}")
    phones(user, asterisk.address).register(fcm(fcm_token()))
    assert manager.act(Action="PushWakeRemove", AOR=user, Provider="apns")["Removed"] == "0"
    assert manager.act(Action="PushWakeRemove", AOR=user)["Removed"] == "1"
    assert "AOR" in manager.act(Action="PushWakeRemove")["Message"]


def test_show_stats(asterisk):
    stats = asterisk.cli("pushwake show stats")
    assert "version" in stats and asterisk.engine_pid() > 0
    assert len(stats.splitlines()) > 5


def test_trace_tells_what_happened_to_a_call(sleeper, caller, user, asterisk):
    phone = sleeper()
    call = caller.call(user)
    call.expect(180)
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    told = wait_until("the end of the trace", lambda: (
        lambda text: text if "the request has ended: answered" in text else None)(
            asterisk.cli(f"pushwake trace {user}")))
    assert f" to {user} from " in told and "phone 1 answered" in told
    assert f"Call-ID {call.call_id}\n" in told, "a dialplan knows no CSeq"
    for sentence in ("sleeps: pushed through apns (call)", "apns accepts the call push", "phone 1 registers",
                     "phone 1 is rung at "):
        assert sentence in told, told
    assert phone.token not in told
    assert user in asterisk.cli("pushwake trace")
    assert "none of the last " in asterisk.cli("pushwake trace nobody")
    assert "wakes in " in asterisk.cli(f"pushwake show bindings {user}")


def test_send_by_hand(phones, asterisk, user, simulator):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    assert "1 push queued" in asterisk.cli(f"pushwake send call {user}")
    simulator.wait_push(token)
    assert "is not an event" in asterisk.cli(f"pushwake send nonsense {user}")


def test_ami_sends_and_tells_the_result(phones, asterisk, user, simulator, manager):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    reply = manager.act(Action="PushWakeSend", PushEvent="call", AOR=user)
    assert reply["Response"] == "Success" and reply["Queued"] == "1"
    result = manager.wait(Event="PushWakeResult", AOR=user)
    assert result["Outcome"] == "accepted" and result["Provider"] == "apns" and result["Status"] == "200"
    assert result["BindingRemoved"] == "No" and result["PushEvent"] == "call"
    assert token not in str(result) and result["Token"].startswith(token[:6])


def test_ami_lists_bindings(phones, asterisk, user, manager):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    assert manager.act(Action="PushWakeBindings", AOR=user)["Response"] == "Success"
    row = manager.wait(Event="PushWakeBinding")
    assert row["Aor"] == user and row["Provider"] == "apns"
    assert token not in str(row)
    assert manager.wait(Event="PushWakeBindingsComplete")["ListItems"] == "1"


def test_ami_lists_what_was_asked_for(phones, asterisk, user, manager):
    phones(user, asterisk.address).register(apns(apns_token()))
    assert manager.act(Action="PushWakeBindings", User=f"{user[:2]}?", Provider="apns", Age="-1h")["Response"] == "Success"
    assert manager.wait(Event="PushWakeBinding", Aor=user)["Verdict"].startswith("not pushed")
    manager.wait(Event="PushWakeBindingsComplete")
    assert manager.act(Action="PushWakeBindings", AOR=user, Verdict="notifications off")["Response"] == "Success"
    assert manager.wait(Event="PushWakeBindingsComplete")["ListItems"] == "0"
    assert "+2d" in manager.act(Action="PushWakeBindings", Age="soon")["Message"]


def test_ami_says_that_a_list_is_not_whole(make_asterisk):
    asterisk = make_asterisk()
    now = int(time.time())
    rows = [{"provider": "apns", "aor": f"user{number}", "app": "com.example.phone", "team": "DEF123GHIJ", "service": "voip",
             "token": f"{number:064x}", "dialect": "rfc8599", "contact": f"sip:user{number}@192.0.2.1", "call_id": f"c{number}",
             "cseq": 1, "registered_at": now, "expires_at": now + 600, "forget_at": now + 6000} for number in range(20_000)]
    (asterisk.host_at / "rows").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert asterisk.pushwake("bindings", "import", f"{asterisk.at}/rows").returncode == 0
    manager, engine = Manager(asterisk.ami_port), asterisk.engine_pid()
    assert manager.act(Action="PushWakeBindings")["EventList"] == "start"
    manager.wait(Event="PushWakeBinding")
    os.kill(engine, signal.SIGKILL)
    told = manager.wait(Event="PushWakeBindingsComplete")
    manager.close()
    assert told["EventList"] == "cancelled" and told["ActionID"] == "7" and told["Message"], told
    assert 0 < int(told["ListItems"]) < len(rows)


def test_ami_refuses_what_is_wrong(manager):
    reply = manager.act(Action="PushWakeSend", PushEvent="nonsense", AOR="1")
    assert reply["Response"] == "Error" and "is not an event" in reply["Message"]
    assert manager.act(Action="PushWakeSend", AOR="1")["Response"] == "Error"


def test_a_dead_token_is_told_and_forgotten(phones, asterisk, user, simulator, manager):
    phones(user, asterisk.address).register(fcm("unregistered-" + fcm_token()))
    manager.act(Action="PushWakeSend", PushEvent="call", AOR=user)
    result = manager.wait(Event="PushWakeResult", AOR=user)
    assert result["Outcome"] == "token-gone" and result["Reason"] == "UNREGISTERED"
    assert result["BindingRemoved"] == "Yes"
    assert "token-gone" in asterisk.cli(f"pushwake show bindings {user}")


def test_reload(asterisk):
    assert "done" in asterisk.cli("pushwake reload")
    wait_until("the engine answers", lambda: "cannot connect" not in asterisk.cli("pushwake show stats"))
