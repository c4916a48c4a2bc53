# SPDX-License-Identifier: MIT
"""Kamailio with the module, the engine alone, and the provider simulator, each in a directory of its own."""

import contextlib
import datetime
import ipaddress
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from ports import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE = ROOT / ".build" / "stage"
PUSHWAKE = pathlib.Path(os.environ.get("PUSHWAKE_BIN", STAGE / "bin" / "pushwake"))
LIBRARY = pathlib.Path(os.environ.get("PUSHWAKE_LIB_DIR", STAGE / "lib")) / "libpushwake.so.1"
MODULE = pathlib.Path(os.environ.get("KAMAILIO_MODULE", STAGE / "lib" / "kamailio" / "pushwake.so"))
MODULES = next(p for p in pathlib.Path("/usr/lib").glob("*/kamailio/modules") if p.is_dir())
CONFIG = pathlib.Path(__file__).parent / "kamailio.cfg"
# How Kamailio waits for phones, where a test does not say: "leg" runs a suite with what is not the default yet.
WAIT = os.environ.get("PUSHWAKE_WAIT") or None
# A Kamailio of another release in a directory of its own (scripts/chroot/kamailio-chroot.sh), which sees the same files.
KAMAILIO_ROOT = os.environ.get("KAMAILIO_ROOT")
IN_ROOT = ('for d in /tmp /dev /proc /sys "$1"; do mkdir -p "$0$d" && mount --rbind "$d" "$0$d" || exit 1; done; '
           'root=$0; shift; exec chroot "$root" kamailio "$@"')
PROGRAM = ("unshare", "-m", "sh", "-c", IN_ROOT, KAMAILIO_ROOT, ROOT) if KAMAILIO_ROOT else ("kamailio",)
CALLS = pathlib.Path(__file__).parent / "calls.cfg"
NODES = pathlib.Path(__file__).parent / "nodes.cfg"

# Seconds within which happens what waits for no timer: the shortest one is that of a silent phone, 0.3.
AT_ONCE = 0.25


ENGINE_TIMEOUT = 3000
"""engine_timeout: with the 100 ms that are shipped, a request goes on without push when the machine has much else to do,
as it should. What follows from that has tests of its own, which set it to something else."""


@contextlib.contextmanager
def stopped(pid):
    """A process stands still: it takes what it is sent, and answers nothing."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def wait_until(what, predicate, seconds=10, step=0.02):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = predicate()
        if value:
            return value
        time.sleep(step)
    raise AssertionError(f"{what}: not within {seconds} s")


def certificate_with_key(name=None):
    """PEM of a certificate for 127.0.0.1, or for this name alone, that signs itself, and of its key."""
    key = rsa.generate_private_key(65537, 2048)
    names = x509.SubjectAlternativeName([x509.DNSName(name) if name else x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name or "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(names, False).sign(key, hashes.SHA256()))
    return made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


# What says in each payload which event it tells: the word, Mizutech's number, Flexisip's key for Apple.
EVENT = re.compile(r'"(?:event|ntype|loc-key)": "?([^",}]*)')
EVENTS = {"0": "call", "1": "chat", "2": "cancel", "3": "custom", "4": "refresh", "IC_MSG": "call", "IM_MSG": "chat",
          "GC_MSG": "group-chat", "Missing call": "missed", "Accepted elsewhere": "elsewhere", "": "refresh"}


def event_of(push):
    """The event that a push tells of; None if it says none. Flexisip's data for Google has both, its key is empty."""
    found = EVENT.findall(json.dumps(push))
    return EVENTS.get(found[-1], found[-1]) if found else None


class Simulator:
    """`pushwake simulate`: stands for Apple, Google and Acrobits."""

    def __init__(self, directory, script=None, arguments=()):
        self.directory = directory
        self.script = script
        self.arguments = arguments
        self.log = directory / "requests.jsonl"
        self.port = free_port()
        self.process = None

    def start(self):
        self.log.touch()
        command = [PUSHWAKE, "simulate", "--listen", f"127.0.0.1:{self.port}", "--dir", self.directory / "files",
                   "--log", self.log, *self.arguments]
        if self.script:
            (self.directory / "script.json").write_text(json.dumps(self.script))
            command += ["--script", self.directory / "script.json"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE, stderr=(self.directory / "stderr").open("w"), text=True)
        line = self.process.stdout.readline()
        assert line, "the simulator did not start: " + (self.directory / "stderr").read_text()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(5)

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def requests(self):
        return self._requests("")

    def _requests(self, text):
        """Those whose line has this text, before it is read: the log of a run is long."""
        lines = self.log.read_text().replace("\\/", "/").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}") and text in line]

    def pushes(self, token):
        return self._requests(token)

    def calls(self, token):
        """The pushes for a call to this token, not those that tell how one ended."""
        return [r for r in self.pushes(token) if event_of(r) == "call"]

    def told(self, token):
        """What phones with this token were told, in order: pairs of time and event."""
        found = [(r["t"], event_of(r)) for r in self.pushes(token)]
        return [(at, event) for at, event in found if event]

    def events(self, token):
        return [event for _, event in self.told(token)]

    def wait_event(self, token, event, seconds=5, after=0):
        """When the push with this event came, the one that follows so many others of its kind."""
        return wait_until(f"{event} to {token}",
                          lambda: [at for at, name in self.told(token) if name == event][after:], seconds)[0]

    def wait_push(self, token, seconds=5, after=0):
        """The push to this token that follows so many others."""
        return wait_until(f"push to {token}", lambda: self.pushes(token)[after:], seconds)[0]

    def settings(self):
        """What a PBX has to set to use this simulator instead of the vendors."""
        made = json.loads((self.directory / "files" / "simulator.json").read_text())
        same = ["ca_file", "apns_key", "apns_key_id", "apns_team_id", "fcm_key"]
        return {name: made[name] for name in same} | {
            "apns_url": self.url, "apns_sandbox_url": self.url, "fcm_url": self.url}

    def acrobits(self):
        """The same for Acrobits' mediator, which needs no key."""
        return {"acrobits": 1, "acrobits_url": f"{self.url}/pnm2/send"}


class Engine:
    """`pushwake engine` without any PBX."""

    def __init__(self, directory, simulator, settings):
        self.log = directory / "engine.log"
        self.settings = directory / "pushwake.conf"
        made = simulator.settings()
        values = {
            "engine_socket": directory / "engine.sock", "store_path": directory / "bindings.db",
            "ca_file": made["ca_file"], "apns_url": simulator.url, "apns_sandbox_url": simulator.url, **settings}
        self.settings.write_text("".join(f"{name} = {value}\n" for name, value in values.items()))
        self.process = subprocess.Popen(
            [PUSHWAKE, "engine", "--settings", self.settings], stdin=subprocess.DEVNULL, stdout=self.log.open("ab"),
            stderr=subprocess.STDOUT)
        wait_until("the engine listens", lambda: "listens on" in self.text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.text()

    def text(self):
        return self.log.read_text()

    def run(self, *arguments):
        return subprocess.run([PUSHWAKE, *arguments, "--settings", self.settings], capture_output=True, text=True,
                              timeout=60, check=False)

    def call(self, app, token=None, seconds=30):
        """Outcome and reason of a push for a call, which ends after so many seconds at the latest."""
        done = self.run("send", "call", "--platform", "apns", "--package", app, "--token", token or uuid.uuid4().hex,
                        "--timeout", str(seconds), "--json")
        row = json.loads(done.stdout)[0]
        assert (done.returncode == 0) == (row["outcome"] == "accepted")
        return row["outcome"], row["reason"]

    def stats(self):
        """The counters, by name."""
        return {name: int(value) for name, value in json.loads(self.run("stats", "--json").stdout).items()}

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def change(engine, *remove, **values):
    """Rewrites the settings file: without some names, with others."""
    lines = [line for line in engine.settings.read_text().splitlines() if line.split(" ")[0] not in {*remove, *values}]
    engine.settings.write_text("\n".join(lines + [f"{name} = {value}" for name, value in values.items()]) + "\n")


class Kamailio:
    running = []

    def __init__(self, directory, simulator, settings=None, config=None, wake_timeout=3, arguments=(),
                 program=PROGRAM):
        self.directory = directory
        self.port = free_port()
        self.tls_port = free_port()
        self.log = directory / "log"
        self.control = directory / "ctl"
        self.store = directory / "bindings.db"
        self.process = None
        self.settings = {
            "engine_path": str(PUSHWAKE),
            "engine_socket": str(directory / "engine.sock"),
            "store_path": str(self.store),
            "wake_timeout": wake_timeout,
            "engine_timeout": ENGINE_TIMEOUT,
            "wait": WAIT,
            **simulator.settings(),
            **(settings or {}),
        }
        self.arguments = list(arguments)
        self.program = list(program)
        self.config = directory / "kamailio.cfg"
        self.template = text = config or CONFIG.read_text()
        if "@CERTIFICATE@" in text:
            (directory / "server.pem").write_bytes(certificate_with_key())
        self.config.write_text(self._config(text))

    def _config(self, text):
        def modparam(name, value):
            return f'modparam("pushwake", "{name}", {value if isinstance(value, int) else json.dumps(str(value))})'

        return (
            text.replace("@PORT@", str(self.port)).replace("@TLS_PORT@", str(self.tls_port))
            .replace("@CERTIFICATE@", str(self.directory / "server.pem")).replace("@MODULES@", str(MODULES)).replace("@PUSHWAKE@", str(MODULE))
            .replace("@CONTROL@", str(self.control))
            .replace("@SETTINGS@", "\n".join(modparam(n, v) for n, v in self.settings.items() if v is not None)))

    def set_up(self, **settings):
        """Other settings, before it is started."""
        self.settings.update(settings)
        self.config.write_text(self._config(self.template))

    def launch(self):
        self.process = subprocess.Popen(
            [*self.program, "-f", self.config, "-DD", "-E", "-P", self.directory / "pid", "-Y", self.directory, "-m", "64",
             *self.arguments],
            stdin=subprocess.DEVNULL, stdout=self.log.open("ab"), stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})
        Kamailio.running.append(self)

    def start(self):
        self.launch()
        wait_until("Kamailio answers", lambda: self.process.poll() is not None or self.rpc("core.uptime") is not None, 15)
        assert self.process.poll() is None, self.tail()
        return self

    def as_printed(self):
        """Puts a configuration that is meant for a real host onto loopback and the simulator: what it says
        stays, lines are added at its end."""
        self.arguments += ["-l", f"udp:127.0.0.1:{self.port}", "-l", f"tcp:127.0.0.1:{self.port}",
                           "-L", f"{MODULES}:{MODULE.parent}"]
        added = "@SETTINGS@\nmodparam(\"ctl\", \"binrpc\", \"unix:@CONTROL@\")\n"
        self.config.write_text(self._config(self.config.read_text() + "\n" + added))
        return self

    def wait_engine(self, seconds=10):
        wait_until("the engine answers", lambda: self.rpc("pushwake.stats") is not None, seconds)
        return self

    def stop(self):
        if self in Kamailio.running:
            Kamailio.running.remove(self)
        if self.process and self.process.poll() is None:
            # Kamailio takes no signal while it looks at another, such as that its children go on.
            for _ in range(5):
                self.process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(2)
                    return
            self.kill()

    def pids(self):
        """All processes of this Kamailio, the engine too."""
        listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        children = {}
        for line in listing.splitlines():
            pid, parent = map(int, line.split())
            children.setdefault(parent, []).append(pid)
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            left += children.get(pid, [])
        return found

    def engine_pid(self):
        for pid in self.pids():
            command = pathlib.Path(f"/proc/{pid}/cmdline")
            try:
                words = command.read_bytes().split(b"\0")
            except OSError:
                continue
            # Valgrind has its own words before them.
            if any(word.endswith(b"pushwake") and after == b"engine" for word, after in zip(words, words[1:])):
                return pid
        return None

    def kill(self):
        """kill -9 of every process of it at once, the engine too."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(5)

    def rpc(self, command, *arguments):
        """Text of the answer, None when Kamailio or the engine does not answer."""
        done = self._kamcmd(command, *arguments)
        failed = done.returncode != 0 or done.stdout.startswith("error") or "ERROR" in done.stderr
        return None if failed else done.stdout

    def complaint(self, command, *arguments):
        """What kamcmd prints of a command that fails."""
        assert self.rpc(command, *arguments) is None
        return self._kamcmd(command, *arguments).stdout

    def _kamcmd(self, command, *arguments):
        return subprocess.run(["kamcmd", "-s", f"unix:{self.control}", command, *map(str, arguments)],
                              capture_output=True, text=True, check=False)

    def counter(self, name):
        text = self.rpc("pushwake.stats") or ""
        for line in text.splitlines():
            if line.strip().startswith(name + ":"):
                return int(line.split(":")[1])
        return None

    def held(self):
        """Transactions held right now; works without the engine."""
        text = self.rpc("stats.fetch", "pushwake.holding") or ""
        return next((int(line.split(":")[1]) for line in text.splitlines() if "holding" in line), None)

    def wait_none_held(self):
        """Kamailio counts when it has sent the final answer, which the caller may have before."""
        wait_until("nothing is held", lambda: self.held() == 0)

    def wait_disconnected(self, port):
        """Until it has no connection with this port of a phone any more; it may have been stopped as well."""
        wait_until(f"the connection of port {port} is closed",
                   lambda: not re.search(rf"src_port: {port}$", self.rpc("core.tcp_list") or "", re.M))

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_log(self, *texts, seconds=5):
        """The first line that holds all these texts."""
        def found():
            return next((line for line in self.log_text().splitlines() if all(text in line for text in texts)), None)

        return wait_until(f"log line with {texts!r}", found, seconds)

    def tail(self, lines=60):
        return "\n".join(self.log_text().splitlines()[-lines:])
