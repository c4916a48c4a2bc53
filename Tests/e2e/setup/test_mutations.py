# SPDX-License-Identifier: MIT
"""A file with every setting right, changed in one place: `pushwake check` names what was changed, with line and remedy."""

import concurrent.futures
import os
import re
import subprocess

import pytest

from servers import PUSHWAKE, ROOT

# In percent; it may rise, and not fall.
FLOOR = 95

ROWS = re.findall(r'^\| <a id="\w+"></a>`(\w+)` \| ((?:\\\||[^|])*) \| ((?:\\\||[^|])*) \| ((?:\\\||[^|])*) \|',
                  (ROOT / "docs" / "settings.md").read_text(), re.M)
VALUES = {name: values.strip() for name, values, *_ in ROWS}
EXAMPLES = {name: example.strip().replace("\\|", "|").strip("`") for name, _, _, example in ROWS}
DEFAULTS = {name: default.strip().strip("`") for name, _, default, _ in ROWS}

TEXTS = {"fastagi.token": "0123456789abcdef", "http.token": "0123456789abcdef", "store.password": "secret",
         "proxy.auth": "user:secret", "webhook.secret": "0123456789abcdef", "flexiapi.key": "0123456789",
         "secret.key": "0f" * 32, "http.users": "alice:example.com:" + "0" * 32 + "\nbob:example.com:" + "0" * 32,
         "webhook.json": '{"to": "TOKEN"}'}

# What refuses to stand beside another setting of the file, or names what this machine does not have.
OTHERWISE = {"engine_mode": "supervised", "engine_path": PUSHWAKE, "engine_socket_group": "root", "store": "sqlite",
             "store_password_file": None, "apns_environment": "production", "webhook_method": "POST",
             "apns_cert_password_file": None, "fcm_app": None, "apns_push_type": "auto", "ca_file": "ca.pem",
             "webhook_body": "@/webhook.json", "webhook_headers": "X-Event: <event>", "http_proxy_auth": None, "fastagi_allow": "192.0.2.10/32"}


def base(directory, files):
    """Each setting with the example of its row; paths are here, and have what they should."""
    made = {}
    names = {"apns_key": next(files.glob("AuthKey_*.p8")), "apns_cert": files / "apns" / "pushkit.com.example.phone.p12",
             "fcm_key": next((files / "fcm").glob("*.json")), "fcm_key_dir": files / "fcm", "vapid_key": files / "vapid.pem",
             "harmonyos_key": files / "harmonyos.json", "ca_file": files / "ca.pem", "http_cert": files / "server.pem",
             "http_key": files / "server.key"}
    for file, text in TEXTS.items():
        path = directory / file
        path.write_text(text + "\n")
        path.chmod(0o600)
    (directory / "templates").mkdir()
    for name, values in VALUES.items():
        value = OTHERWISE.get(name, EXAMPLES[name])
        if value is None:
            continue
        if name in names:
            value = names[name]
        elif values == "path" and name != "engine_path":
            value = directory / os.path.basename(value)
        made[name] = str(value).replace("@/", f"@{directory}/")
    made["apns_key_id"] = names["apns_key"].stem.removeprefix("AuthKey_")
    return made


def check(path):
    done = subprocess.run([PUSHWAKE, "check", path, "--user", "root" if os.geteuid() == 0 else os.environ["USER"]],
                          capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr


# ---- what is done to one value

# These are as right as before: the engine makes such files where it may, and SIP and HTTP know no case here.
STILL_RIGHT = {("wrong_case", "engine_socket"), ("wrong_path", "engine_socket"), ("wrong_case", "store_path"),
               ("wrong_path", "store_path"), ("wrong_case", "wake_requests"), ("wrong_case", "webhook_headers")}


def wrong_unit(name, value, kind):
    """A number with its unit, and seconds where milliseconds count, or the other way round."""
    if re.fullmatch(r"-?\d+", value) and " to " in kind:
        unit = kind.rpartition(" ")[2] if kind[-1].isalpha() else ""
        yield f"{value}{unit or '%'}"
        if unit == "ms":
            yield str(max(1, int(value) // 1000))
        elif unit in ("s", "days"):
            yield str(int(value) * (1000 if unit == "s" else 86_400))
    elif re.search(r":\d+$", value):
        yield re.sub(r":\d+$", ":80808", value)


def wrong_sign(name, value, kind):
    if re.fullmatch(r"-?\d+", value) and (" to " in kind or kind == "0 or 1"):
        yield f"-{value}" if value != "0" else "-2"
    if "," in value:
        yield value.replace(", ", ";").replace(",", ";")


def wrong_case(name, value, kind):
    if "`" in kind and re.search("[a-zA-Z]", value) and "/" not in value:
        yield value.swapcase()
    elif kind == "path":
        head, _, tail = value.rpartition("/")
        yield f"{head}/{tail.swapcase()}"
    elif "example" not in value and re.fullmatch(r"[A-Z0-9]{10}", value):
        yield value.lower()


def wrong_path(name, value, kind):
    if kind == "path":
        yield value.lstrip("/")
        yield f"~{value}"
        yield f"{value}.old/{name}"
    elif value.startswith("@/"):
        yield value + ".old"
        yield value[1:]
    elif value.startswith("https://"):
        yield "http" + value[5:]
        yield value.removeprefix("https://")
        if kind == "https URL" and value.count("/") == 2:
            yield value + "/push"
    elif value.startswith("sip:"):
        yield value.removeprefix("sip:")
    elif re.search(r"\w\.\w", value) and kind in ("text", "host:port", "host:port, tcp:host:port, tls:host:port"):
        yield f"https://{value}/"


def mutations(settings):
    """Pairs of what is done and the lines that are changed by it, with their new values."""
    for name, value in settings.items():
        for change in (wrong_unit, wrong_sign, wrong_case, wrong_path):
            for new in change(name, value, VALUES[name]):
                is_right = (change.__name__, name) in STILL_RIGHT and not new.startswith(("~", "t"))
                if new != value and not is_right:
                    yield change.__name__, {name: new}
    names = list(settings)
    for one, other in zip(names, names[1:]):
        # Two numbers, or two names of sounds, are as good the other way round.
        if settings[one] != settings[other] and (VALUES[one] != VALUES[other] or VALUES[one] == "path"):
            yield "swapped", {one: settings[other], other: settings[one]}


def is_named(text, changed, lines):
    """Whether a line is about one of these settings, at its place, and says what to do."""
    for line in text.splitlines():
        found = re.match(r".*pushwake\.conf:(\d+): (?:error|warning): (\w+): (.*)", line)
        if found and found[2] in changed and lines[int(found[1]) - 1].startswith(f"{found[2]} = ") and REMEDY.search(found[3]):
            return True
    return False


REMEDY = re.compile(r"; |did you mean|\b(?:write|set|give|name|add|leave|chmod|chown) ")


def test_mistakes_are_named_with_line_and_remedy(tmp_path, simulator, capsys):
    settings = base(tmp_path, simulator.directory / "files")

    def tried(number, changed):
        directory = tmp_path / str(number)
        directory.mkdir()
        lines = [f"{name} = {value}" for name, value in (settings | changed).items()]
        path = directory / "pushwake.conf"
        path.write_text("\n".join(lines) + "\n")
        return is_named(check(path), changed, lines)

    path = tmp_path / "pushwake.conf"
    path.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    assert "all is well" in check(path), check(path)
    made = list(mutations(settings))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        named = list(pool.map(lambda each: tried(each[0], each[1][1]), enumerate(made)))
    silent = [(kind, changed) for (kind, changed), is_one in zip(made, named) if not is_one]
    rate = 100 * (len(made) - len(silent)) / len(made)
    with capsys.disabled():
        print(f"\n{rate:.1f} % of {len(made)} mistakes are named by pushwake check", flush=True)
    for kind, changed in silent:
        print(f"  {kind}: {changed}")
    assert rate >= FLOOR
