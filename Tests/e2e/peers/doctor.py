# SPDX-License-Identifier: MIT
"""What `pushwake doctor` says of a user."""

import re
import subprocess
import time

from servers import PUSHWAKE


class Diagnosis:
    """What one command says: the lines, and the one thing to do."""

    def __init__(self, server, user, *options):
        done = subprocess.run([PUSHWAKE, "doctor", user, "--socket", server.directory / "engine.sock", *options],
                              capture_output=True, text=True, timeout=30, check=False)
        self.code, self.text = done.returncode, done.stdout + done.stderr
        self.advice = re.search(r"^Do: (.*)|\Z", self.text, re.M)[1] or self.text.strip()

    def state(self, step):
        """How its last line begins; None without one."""
        found = re.findall(rf"^(\w+) +{step} ", self.text, re.M)
        return found[-1] if found else None


def says(server, user, word, *unsaid, code=1):
    """Until it names this remedy: what an engine knows of a call's end comes a moment after it."""
    end = time.monotonic() + 8
    while word not in (found := Diagnosis(server, user)).advice and time.monotonic() < end:
        time.sleep(0.2)
    assert word in found.advice and found.code == code, found.text
    for other in unsaid:
        assert other not in found.advice, found.text
    return found
