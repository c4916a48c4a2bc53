# SPDX-License-Identifier: MIT
"""A real Asterisk in the chroot, on loopback ports, with a configuration of its own."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

from ports import block, free_port
from servers import ENGINE_TIMEOUT, LIBRARY, PUSHWAKE, Simulator, wait_until

MODULES = [
    "app_dial", "app_echo", "app_exec", "app_queue", "app_stack", "app_verbose", "app_userevent",
    "bridge_*", "chan_pjsip", "codec_ulaw", "codec_alaw", "format_pcm", "func_channel", "func_callerid", "func_db", "func_devstate", "func_dialplan",
    "func_global", "func_hangupcause", "func_logic", "func_strings", "func_pjsip_*", "func_uri", "pbx_config", "res_agi", "res_clioriginate",
    "res_crypto", "res_musiconhold", "res_mutestream", "res_pjproject", "res_pjsip", "res_pjsip_acl", "res_pjsip_authenticator_digest",
    "res_pjsip_caller_id", "res_pjsip_dlg_options", "res_pjsip_endpoint_identifier_*", "res_pjsip_header_funcs", "res_pjsip_logger",
    "res_pjsip_messaging", "res_pjsip_nat", "res_pjsip_outbound_authenticator_digest", "res_pjsip_path", "res_pjsip_rfc3326",
    "res_pjsip_pubsub", "res_pjsip_outbound_publish", "res_pjsip_exten_state", "res_pjsip_registrar", "res_pjsip_sdp_rtp", "res_pjsip_session",
    "res_rtp_asterisk", "res_sorcery_*", "res_speech", "res_timing_timerfd",
]  # fmt: skip

ASTERISK_CONF = """
[directories]
astetcdir = {at}/etc
astmoddir = {at}/modules
astvarlibdir = {at}/lib
astdbdir = {at}/lib
astkeydir = {at}/lib
astdatadir = /usr/share/asterisk
astagidir = {at}/agi
astspooldir = {at}/spool
astrundir = {at}/run
astlogdir = {at}/log
[options]
systemname = test
"""

MODULES_CONF = "[modules]\nautoload = yes\n"

LOGGER_CONF = "[general]\ndateformat = %T.%3q\n[logfiles]\nmessages = notice,warning,error,verbose(4),debug\n"

MANAGER_CONF = """
[general]
enabled = yes
port = {port}
bindaddr = 127.0.0.1
[test]
secret = test
read = all
write = all
"""

PJSIP_CONF = """
[global]
type = global
debug = no
[udp]
type = transport
protocol = udp
bind = 127.0.0.1:{sip}
[tcp]
type = transport
protocol = tcp
bind = 127.0.0.1:{sip}
[caller]
type = endpoint
context = phones
message_context = messages
allow = !all,ulaw
direct_media = no
"""

PHONE_CONF = """
[{user}]
type = endpoint
context = phones
message_context = messages
allow = !all,ulaw
direct_media = no
aors = {user}
auth = {user}
rewrite_contact = yes
[{user}]
type = auth
auth_type = userpass
username = {user}
password = {user}-secret
[{user}]
type = aor
max_contacts = 5
minimum_expiration = 10
"""


# SANITIZED=1: the module is compiled with AddressSanitizer; the first error ends Asterisk, and with it the test.
SANITIZED = "SANITIZED" in os.environ
SANITIZER = ["LD_PRELOAD=libasan.so.8", "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0"] if SANITIZED else []


class ChrootSimulator(Simulator):
    """The provider simulator, with its files where Asterisk can read them."""

    def __init__(self, workplace):
        self.root = workplace.root
        super().__init__(workplace.make("simulator"))

    def host_settings(self):
        """For a PBX outside the chroot."""
        return super().settings()

    def settings(self):
        """What Asterisk has to set; the paths are those inside the chroot."""
        made = json.loads((self.directory / "files/simulator.json").read_text())
        files = {name: made[name].replace(str(self.root), "") for name in ("ca_file", "apns_key", "fcm_key")}
        return {
            **files,
            "apns_key_id": made["apns_key_id"],
            "apns_team_id": made["apns_team_id"],
            "apns_url": made["url"],
            "fcm_url": made["url"],
        }


class Asterisk:
    """Paths named here are those inside the chroot unless they begin with `host_`."""

    running = []
    flags = ["-f", "-g"]

    def __init__(self, workplace, name, module):
        self.root = workplace.root
        self.host_at = workplace.make(name)
        self.at = "/" + str(self.host_at.relative_to(self.root))
        self.sip_port, self.ami_port = free_port(), free_port()
        self.address = ("127.0.0.1", self.sip_port)
        self.users = []
        self.mounts = []
        self.process = None
        # Where the engine's socket is, for programs of the host.
        self.directory = workplace.link(self.host_at / "run")
        for part in ("etc", "modules", "lib", "agi", "spool", "run", "log", "bin", "sim"):
            (self.host_at / part).mkdir(parents=True)
        self._place_files()
        shutil.copy2(module, self.host_at / "modules/res_pushwake.so")
        # Asterisk looks its own host name up for each SDP; without a line here it asks the network.
        hosts, own = self.root / "etc/hosts", self.host_at / "hosts"
        own.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        own.rename(hosts)

    def _place_files(self):
        self.add_modules(*MODULES)
        shutil.copy2(LIBRARY, self.host_at / "bin")
        shutil.copy2(PUSHWAKE, self.host_at / "bin/pushwake")
        self.write("asterisk.conf", ASTERISK_CONF.format(at=self.at))
        self.write("modules.conf", MODULES_CONF)
        self.write("logger.conf", LOGGER_CONF)
        self.write("manager.conf", MANAGER_CONF.format(port=self.ami_port))
        self.write("pjsip.conf", PJSIP_CONF.format(sip=self.sip_port))
        self.write("rtp.conf", "[general]\nrtpstart = {}\nrtpend = {}\n".format(*block().media))
        self.write("indications.conf", "[general]\ncountry = us\n[us]\ndescription = United States\nringcadence = 2000,4000\nring = 440+480/2000,0/4000\n")
        for empty in ("extensions.conf", "queues.conf", "musiconhold.conf", "features.conf"):
            self.write(empty, "")

    def add_modules(self, *patterns):
        modules = next(self.root.glob("usr/lib/*/asterisk/modules"))
        for pattern in patterns:
            for module in modules.glob(pattern + ".so"):
                (self.host_at / "modules" / module.name).symlink_to("/" + str(module.relative_to(self.root)))

    def change(self, name, old, new):
        text = (self.host_at / "etc" / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def write(self, name, text):
        (self.host_at / "etc" / name).write_text(text)

    def add_phone(self, user):
        self.users.append(user)
        with open(self.host_at / "etc/pjsip.conf", "a") as f:
            f.write(PHONE_CONF.format(user=user))

    def add_extension(self, number, *steps):
        """Adds an extension to the context `phones`: "Application(data)" per step."""
        lines = [f"exten => {number},{place},{step}\n" for place, step in enumerate(steps, 1)]
        with open(self.host_at / "etc/extensions.conf", "a") as f:
            f.write("\n[phones](+)\n" + "".join(lines).replace(",1,hint,", ",hint,"))
        if self.process:
            self.cli("dialplan reload")

    def settings(self, **values):
        """Writes pushwake.conf: the engine of this Asterisk and what is given. WAIT=dialplan in the environment: all with that."""
        rows = {
            "engine_path": f"{self.at}/bin/pushwake",
            "engine_socket": f"{self.at}/run/engine.sock",
            "store_path": f"{self.at}/lib/bindings.db",
            "engine_timeout": ENGINE_TIMEOUT,
            **({"wait": os.environ["WAIT"]} if "WAIT" in os.environ else {}),
            **values,
        }
        self.write("pushwake.conf", "[general]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items()))

    # ---- running

    def command(self, *arguments):
        """Runs inside, with a /proc and mounts that go when it ends."""
        mounts = "".join(f"mount --bind {shlex.quote(str(path))} {shlex.quote(str(place))} && " for path, place in self.mounts)
        enter = mounts + 'mount -t proc proc "$1/proc" && exec chroot "$@"'
        return ["unshare", "--mount", "sh", "-c", enter, "sh", str(self.root), "env", f"LD_LIBRARY_PATH={self.at}/bin", "LC_ALL=C.UTF-8", *arguments]

    def mount(self, path, place):
        """Shows this Asterisk, and no other in the chroot, a file or directory of the host at this place."""
        place = self.root / place[1:]
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.touch()
        self.mounts.append((path, place))

    def run_as_packaged(self):
        """Debian's unit: its flags, and its user for all that is written to."""
        unit = (self.root / "usr/lib/systemd/system/asterisk.service").read_text()
        self.flags = re.search(r"^ExecStart=\S+ (.*)$", unit, re.M)[1].split()
        owner = int(re.search(r"^asterisk:x:(\d+):", (self.root / "etc/passwd").read_text(), re.M)[1])
        subprocess.run(["chown", "-R", f"{owner}:{self.group_id}", self.host_at], check=True)

    @property
    def group_id(self):
        """Of the group asterisk in the chroot."""
        return int(re.search(r"^asterisk:x:(\d+):", (self.root / "etc/group").read_text(), re.M)[1])

    def start(self):
        self.output = open(self.host_at / "log/console", "a")
        self.process = subprocess.Popen(
            self.command(*SANITIZER, "asterisk", "-C", f"{self.at}/etc/asterisk.conf", *self.flags),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        Asterisk.running.append(self)
        deadline = time.monotonic() + 30
        while "Asterisk has fully booted" not in self.cli("core waitfullybooted"):
            assert self.process.poll() is None, self.log()[-4000:]
            assert time.monotonic() < deadline, self.log()[-4000:]
            time.sleep(0.1)

    def cli(self, command):
        done = subprocess.run(
            self.command("asterisk", "-C", f"{self.at}/etc/asterisk.conf", "-rx", command),
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        return done.stdout + done.stderr

    def wait_engine(self, seconds=10):
        wait_until("the engine answers", lambda: "cannot connect" not in self.cli("pushwake show stats"), seconds, 0.1)

    def wait_contact(self, user, seconds=2):
        """Where plain Dial() wakes phones: until it finds somebody. Without an engine it may not."""
        if "wait = dialplan" in (self.host_at / "etc/pushwake.conf").read_text():
            return
        deadline = time.monotonic() + seconds
        while f"Contact:  {user}/" not in self.cli(f"pjsip show aor {user}") and time.monotonic() < deadline:
            time.sleep(0.05)

    def stop(self):
        if self in Asterisk.running:
            Asterisk.running.remove(self)
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process:
            self.output.close()
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def engine_pid(self):
        for line in self.cli("pushwake show stats").splitlines():
            if line.startswith("engine process"):
                return int(line.split()[-1])
        return 0

    def kill_engine(self):
        os.kill(self.engine_pid(), signal.SIGKILL)

    def log(self):
        path = self.host_at / "log/messages"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_log(self, text, timeout=5.0, since=0):
        wait_until(f"log line with {text!r}", lambda: text in self.log()[since:], timeout)
        return self.log()[since:]

    def pushwake(self, *arguments):
        """Runs the pushwake executable beside this Asterisk's engine."""
        return subprocess.run(
            self.command(f"{self.at}/bin/pushwake", *arguments, "--socket", f"{self.at}/run/engine.sock"),
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip

    def bindings(self, aor):
        done = self.pushwake("bindings", "--json", aor)
        return json.loads(done.stdout or "[]")
