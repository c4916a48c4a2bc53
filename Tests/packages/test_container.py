# SPDX-License-Identifier: MIT
"""Containerfile: built where buildah is installed, else only read."""

import json
import re
import shutil
import subprocess
import uuid

import pytest

from servers import ROOT

FILE = ROOT / "Containerfile"
INSTRUCTIONS = {"ARG", "FROM", "COPY", "RUN", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
BUILDER = shutil.which("buildah")
# Works in every file system, and in a chroot.
VFS = [BUILDER, "--storage-driver", "vfs"]


def instructions():
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def test_each_instruction_can_be_read(packages):
    found = instructions()
    assert {name for name, _ in found} <= INSTRUCTIONS
    rows = dict(found)
    assert rows["FROM"] == "${BASE}" and re.search(r":[a-z]+-slim$", rows["ARG"]), "a release by its name"
    *patterns, target = rows["COPY"].split()
    for pattern in patterns:
        assert len(list(packages["pushwake"].parent.glob(pattern))) == 1, pattern
    assert target.endswith("/") and target in rows["RUN"], "what is copied is installed and removed"
    assert subprocess.run(["sh", "-n"], input=rows["RUN"], text=True, check=False).returncode == 0
    for name in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(rows[name]))


@pytest.mark.skipif(not BUILDER, reason="buildah is not installed")
def test_the_image_is_built_and_its_kamailio_takes_its_configuration(debian, packages):
    def tool(*words, **options):
        done = subprocess.run([*VFS, *map(str, words)], capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    base, image = f"localhost/pushwake-base-{uuid.uuid4().hex[:8]}", f"localhost/pushwake-{uuid.uuid4().hex[:8]}"
    made = []
    try:
        # Debian as debootstrap has it: no registry is asked.
        work = tool("from", "scratch")
        made.append(work)
        tool("add", work, debian.path, "/")
        tool("commit", work, base)
        tool("build", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={base}", "-t", image,
             "-f", FILE, packages["pushwake"].parent)
        container = tool("from", image)
        made.append(container)
        said = tool("run", "--isolation", "chroot", container, "--",
                    "kamailio", "-c", "-f", "/etc/kamailio/kamailio.cfg")
        assert "error" not in said.lower()
    finally:
        for container in made:
            subprocess.run([*VFS, "rm", container], capture_output=True, check=False)
        subprocess.run([*VFS, "rmi", "-f", image, base], capture_output=True, check=False)
