# SPDX-License-Identifier: MIT
"""Each step of a call goes to a HEP server under the call's Call-ID: decoded by a reader of the test's own, and taken by
sngrep beside the SIP messages that siptrace sends."""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import termios
import threading
import time

import pytest

from peers import hep
from peers.http_client import TOKEN, Client, listen
from phones import mpush_android
from ports import free_port
from servers import CALLS, certificate_with_key, wait_until

SIPTRACE = """loadmodule "siptrace.so"
modparam("siptrace", "duplicate_uri", "sip:127.0.0.1:%d")
modparam("siptrace", "hep_mode_on", 1)
modparam("siptrace", "hep_version", 3)
modparam("siptrace", "hep_capture_id", 2001)
modparam("siptrace", "trace_to_database", 0)
modparam("siptrace", "trace_on", 1)
modparam("siptrace", "trace_mode", 1)
"""


def captured(make_kamailio, address, siptrace=None, **settings):
    """A Kamailio whose calls are captured at an address."""
    config = CALLS.read_text()
    if siptrace:
        config = config.replace('loadmodule "@PUSHWAKE@"', SIPTRACE % siptrace + 'loadmodule "@PUSHWAKE@"')
        config = config.replace("event_route[pushwake:result] {",
                                'event_route[pushwake:result] {\n    hlog("$pushwake(callid)", "push: $pushwake(outcome)");')
    server = make_kamailio(config=config, wake_timeout=10, settings={"hep_capture": address, **settings})
    return server.start().wait_engine()


def trace(server, user):
    """Packets about the calls of a user, when the last of them is there."""
    def found():
        packets = [packet for packet in list(server.packets) if packet.json.get("aor") == user]
        return packets if packets and packets[-1].json["what"] == "ended" else None
    return wait_until("the whole trace", found)


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_each_step_of_a_call_is_a_log_line_under_its_call_id(make_kamailio, actors, simulator, tmp_path, transport):
    settings, certificate = {}, None
    if transport == "tls":
        certificate = tmp_path / "capture.pem"
        certificate.write_bytes(certificate_with_key())
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes((simulator.directory / "files" / "ca.pem").read_bytes() + certificate.read_bytes())
        settings["ca_file"] = str(trusted)
    server = hep.Server(free_port(), transport, certificate)
    kamailio = captured(make_kamailio, server.address, hep_id="77", **settings)
    began = time.time()
    phone = actors.answered(kamailio, "captured", mpush_android())
    packets = trace(server, "captured")
    server.close()
    assert not server.errors
    what = [packet.json["what"] for packet in packets]
    assert what[:3] == ["request", "phone", "pushed"] and what[-1] == "ended"
    assert [step for step in what if step in ("push-ended", "registered", "rung", "answer")][:3] == [
        "push-ended", "registered", "rung"]
    assert len({packet.correlation_id for packet in packets}) == 1
    for packet in packets:
        assert packet.correlation_id and packet.correlation_id == packet.json["call_id"]
        assert packet.type == 100 and packet.agent == 77
        assert packet.family == 2 and packet.transport == (17 if transport == "udp" else 6)
        assert packet.source[0] == "127.0.0.1" and packet.destination == ("127.0.0.1", server.port)
        assert packet.line == (f"PushWake: INVITE for captured +{packet.json['at_ms']} ms: {packet.json['text']}")
        assert began - 1 < packet.time < time.time() + 1
        assert phone.push.token.encode() not in packet.raw
    times = [packet.time for packet in packets]
    assert times == sorted(times) and len(set(times)) == len(times), "Homer sorts by time"
    counters = kamailio.rpc("pushwake.stats")
    assert "hep_sent" in str(counters)


def test_a_server_that_is_away_costs_the_call_nothing_and_gets_the_trace_later(make_kamailio, actors):
    port = free_port()
    kamailio = captured(make_kamailio, f"tcp:127.0.0.1:{port}")
    actors.answered(kamailio, "patient", mpush_android())
    kamailio.wait_log("hep_capture: tcp:127.0.0.1:", "refused")
    server = hep.Server(port, "tcp")
    assert trace(server, "patient")[0].json["what"] == "request"
    server.close()
    assert not server.errors


def test_what_nobody_takes_is_counted(make_kamailio, actors, tmp_path):
    port = free_port()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    http = free_port()
    kamailio = captured(make_kamailio, f"127.0.0.1:{port}", http_listen=str(http), http_token_file=str(token))
    actors.answered(kamailio, "unheard", mpush_android())

    def dropped():
        found = re.search(r'^pushwake_hep_packets_total\{outcome="dropped"\} (\d+)$', Client(http).curl("/metrics").body, re.M)
        return int(found.group(1))
    wait_until("a packet that nobody took", lambda: dropped() > 0)
    assert len(re.findall("hep_capture: udp", kamailio.log_text())) <= 2, "one line for a reason, however often"


def test_the_server_is_another_after_a_reload(make_engine, tmp_path, simulator):
    engine, client = listen(make_engine, tmp_path, **simulator.settings())
    assert "pushwake_hep" not in client.curl("/metrics").body
    server = hep.Server(free_port())
    engine.settings.write_text(engine.settings.read_text() + f"hep_capture = {server.address}\n")
    os.kill(engine.process.pid, signal.SIGHUP)
    wait_until("the capture begins", lambda: "pushwake_hep" in client.curl("/metrics").body)
    made = client.curl("/v1/bindings", "-d", f"aor=erin&provider=apns&app=com.example.phone&token={'ab' * 32}")
    assert made.status == 200, made.body
    client.curl("/v1/wake", "-d", "aor=erin&timeout=1")
    wait_until("its trace", lambda: [packet for packet in list(server.packets)
                                     if packet.json["aor"] == "erin" and packet.json["what"] == "pushed"])
    engine.settings.write_text(engine.settings.read_text().replace(f"hep_capture = {server.address}\n", ""))
    os.kill(engine.process.pid, signal.SIGHUP)
    wait_until("the capture ends", lambda: "pushwake_hep" not in client.curl("/metrics").body)
    server.close()


class Terminal:
    """A program that wants a terminal, and what it has written there."""

    def __init__(self, *command):
        self.written = b""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", HOME="/nonexistent")
            os.execvp(command[0], command)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            while piece := os.read(self.descriptor, 65_536):
                self.written += piece
        except OSError:
            pass

    @property
    def text(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]|\s", "", self.written.decode(errors="replace"))

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.thread.join(10)
        os.close(self.descriptor)


def test_sngrep_shows_the_calls_beside_the_trace(make_kamailio, actors):
    assert shutil.which("sngrep"), "make setup-test installs it"
    port = free_port()
    sngrep = Terminal("sngrep", "-L", f"udp:127.0.0.1:{port}")
    try:
        wait_until("sngrep listens", lambda: f"[L:{port}]" in sngrep.text)
        kamailio = captured(make_kamailio, f"127.0.0.1:{port}", siptrace=port)
        actors.answered(kamailio, "shown", mpush_android())
        wait_until("sngrep has the call", lambda: "COMPLETED" in sngrep.text or "INCALL" in sngrep.text)
        assert os.waitpid(sngrep.pid, os.WNOHANG) == (0, 0), "it still runs"
        assert "shown@" in sngrep.text
    finally:
        sngrep.stop()


def test_lines_of_hlog_and_ours_have_the_same_call_id(make_kamailio, actors):
    server = hep.Server(free_port())
    kamailio = captured(make_kamailio, server.address, siptrace=server.port)
    actors.answered(kamailio, "both", mpush_android())
    ours = trace(server, "both")
    call = ours[0].correlation_id
    theirs = [packet for packet in server.of(call) if not packet.json]
    assert any(packet.type == 100 and packet.line == "push: accepted" for packet in theirs)
    messages = [packet for packet in list(server.packets) if packet.type == 1 and call.encode() in packet.payload]
    assert any(packet.payload.startswith(b"INVITE ") for packet in messages)
    server.close()
