# SPDX-License-Identifier: MIT
"""A Debian in a directory, and what runs in it."""

import functools
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

from servers import IN_ROOT, ROOT, Kamailio, wait_until

WITH_MOUNTS = ('for d in /tmp /dev /proc /sys; do mkdir -p "$0$d" && mount --rbind "$d" "$0$d" || exit 1; done; '
               'root=$0; exec chroot "$root" "$@"')
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
DOMAIN = "sip.example"
PUSHWAKE_PACKAGES = ["libpushwake1", "pushwake", "kamailio-pushwake-module"]


class Debian:
    def __init__(self, path, suite):
        self.path, self.suite = path, suite

    @classmethod
    def make(cls, suite):
        path = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-debian-", dir="/var/tmp"))
        subprocess.run([ROOT / "scripts/chroot/fresh-chroot.sh", suite, path], check=True)
        # The copy of a directory has its mode too.
        path.chmod(0o755)
        return cls(path, suite)

    @classmethod
    def copy(cls, root, suite):
        """A Debian that has more than a fresh one."""
        path = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-debian-", dir="/var/tmp"))
        # One file system: never what a kernel shows in /proc.
        subprocess.run(["cp", "-ax", f"{root}/.", path], check=True)
        return cls(path, suite)

    def remove(self):
        shutil.rmtree(self.path)

    def __truediv__(self, path):
        return self.path / str(path).lstrip("/")

    def run(self, *command, check=True, **environment):
        """What a command does in it."""
        done = subprocess.run(self.command(*command), env=ENVIRONMENT | environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=900, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def command(self, *words):
        """What starts a command in it; mounts are gone with the command."""
        return ["unshare", "-m", "sh", "-c", WITH_MOUNTS, str(self.path), *map(str, words)]

    def install(self, packages, *names, check=True):
        """Installs packages of ours with apt, as `apt install ./NAME.deb` does."""
        (self / "root/debs").mkdir(exist_ok=True)
        places = [shutil.copy(packages[name], self / "root/debs") for name in names or PUSHWAKE_PACKAGES]
        files = [f"/root/debs/{pathlib.Path(place).name}" for place in places]
        return self.run("apt-get", "install", "-y", "--no-install-recommends", "--allow-downgrades", *files, check=check)

    def versions(self):
        """State and version of our packages."""
        rows = self.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev} ${Version}\n", "*pushwake*",
                        check=False).stdout
        return {name: (state, version) for name, state, version in
                (row.split() for row in rows.splitlines() if len(row.split()) == 3)}

    def files(self):
        """All files but those in which Debian keeps its books."""
        books = ("/var/lib/dpkg", "/var/cache", "/var/log", "/tmp", "/root", "/proc", "/sys", "/dev", "/var/lib/apt",
                 "/var/lib/systemd", "/etc/apt", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/.pwd.lock")
        found = set()
        for directory, names, files in os.walk(self.path):
            inside = "/" + str(pathlib.Path(directory).relative_to(self.path))
            inside = "" if inside == "/." else inside
            names[:] = [name for name in names if not f"{inside}/{name}".startswith(books)]
            found |= {f"{inside}/{name}" for name in names + files if not f"{inside}/{name}".startswith(books)}
        return found

    def account(self, name):
        """Whether it has a user or a group of this name."""
        return any(line.split(":")[0] == name for book in ("passwd", "group")
                   for line in (self / f"etc/{book}").read_text().splitlines())

    def processes(self):
        """Programs that run in it."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "root") == str(self.path):
                    found.append((process / "comm").read_text().strip())
            except OSError:
                continue
        return found


class PackagedKamailio(Kamailio):
    """The Kamailio of the packages with its own configuration, as its unit starts it."""

    def __init__(self, debian, place, simulator, **settings):
        directory = pathlib.Path(tempfile.mkdtemp(dir=place))
        directory.chmod(0o777)
        keys = self.give_keys(debian, simulator)
        # /tmp twice: nothing of this tree is to be seen.
        program = ("unshare", "-m", "sh", "-c", IN_ROOT, str(debian.path), "/tmp")
        super().__init__(directory, simulator, {**keys, "engine_path": None, "engine_socket": None, "store_path": None,
                                                **settings}, config="#", wake_timeout=10, program=program)
        self.config = "/etc/kamailio/kamailio.cfg"
        rows = [f'modparam("pushwake", "{name}", {json.dumps(value)})' for name, value in self.settings.items()
                if value is not None]
        (debian / "etc/kamailio/pushwake.cfg").write_text("\n".join([
            "log_stderror=yes", "children=2", f'alias="{DOMAIN}"', f'modparam("ctl", "binrpc", "unix:{self.control}")', *rows, ""]))
        self.arguments = ["-u", "kamailio", "-g", "kamailio", "-l", f"udp:127.0.0.1:{self.port}",
                          "-l", f"tcp:127.0.0.1:{self.port}"]

    @staticmethod
    def give_keys(debian, simulator):
        """The simulator's keys where a host has its own; returns the settings for them."""
        settings = simulator.settings()
        group = int(debian.run("getent", "group", "pushwake").stdout.split(":")[2])
        for name in ("ca_file", "apns_key", "fcm_key"):
            source = pathlib.Path(settings[name])
            shutil.copy(source, debian / "etc/pushwake")
            os.chown(debian / "etc/pushwake" / source.name, 0, group)
            (debian / "etc/pushwake" / source.name).chmod(0o640)
            settings[name] = f"/etc/pushwake/{source.name}"
        return settings


class ServiceManager:
    """Starts what a unit says, and hears what it has to tell: as much of systemd as runs anywhere."""

    def __init__(self, debian, place, unit="pushwake.service", **environment):
        self.debian = debian
        self.path = pathlib.Path(tempfile.mkdtemp(dir=place)) / "notify"
        self.path.parent.chmod(0o777)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(10)
        self.path.chmod(0o777)
        places = (debian / f"{place}/systemd/system/{unit}" for place in ("lib", "usr/lib", "usr/local/lib"))
        text = next(path for path in places if path.exists()).read_text()
        self.unit = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        self.log = self.path.parent / "log"
        self.environment = environment
        self.process = None

    def start(self):
        user = ["setpriv", f"--reuid={self.unit['User']}", f"--regid={self.unit['Group']}", "--init-groups"]
        self.process = subprocess.Popen(
            self.debian.command(*user, *self.unit["ExecStart"].split()), stdin=subprocess.DEVNULL,
            stdout=self.log.open("ab"), stderr=subprocess.STDOUT,
            env=ENVIRONMENT | {"NOTIFY_SOCKET": str(self.path), "WATCHDOG_USEC": "1000000"} | self.environment)
        wait_until("READY=1", lambda: self.process.poll() is not None or self.hear() == "READY=1")
        assert self.process.poll() is None, self.log.read_text()
        return self

    def hear(self):
        return self.socket.recv(256).decode()

    def stop(self):
        """Ends it; what it said meanwhile."""
        # Signs of life that nobody has read leave no room for the last word.
        said = self.hear_all()
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
        return said + self.hear_all()

    def hear_all(self):
        """What it has said by now."""
        said = []
        self.socket.setblocking(False)
        try:
            while True:
                said.append(self.hear())
        except BlockingIOError:
            self.socket.settimeout(10)
        return said


class Repository:
    """An apt repository of its own key, as `make repository` makes it, on a web server."""

    def __init__(self, directory, suite):
        self.suite, self.folder = suite, directory / "repository"
        # With its own .cache, where the key is made.
        self.script = directory / "scripts/make/repository.sh"
        self.script.parent.mkdir(parents=True)
        shutil.copy(ROOT / "scripts/make/repository.sh", self.script)
        self.folder.mkdir()
        handler = functools.partial(QuietHandler, directory=self.folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def add(self, packages):
        with tempfile.TemporaryDirectory() as made:
            for path in packages.values():
                shutil.copy(path, made)
            done = subprocess.run([self.script, self.folder, f"{self.suite}={made}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def newer(package, directory):
    """A copy of a package whose version is higher, in what it depends on too."""
    tree = directory / package.stem
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    version = next(line.split()[1] for line in control.read_text().splitlines() if line.startswith("Version:"))
    control.write_text(control.read_text().replace(version, f"9{version}"))
    made = directory / package.name.replace(version, f"9{version}")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, made], check=True, capture_output=True)
    return made
