# SPDX-License-Identifier: MIT
"""What the program says of itself."""

import re
import subprocess

from servers import PUSHWAKE


def run(*arguments):
    return subprocess.run([PUSHWAKE, *arguments], capture_output=True, text=True, timeout=30, check=False)


def test_commands_stand_under_what_they_are_for():
    text = run().stdout
    groups = re.findall(r"^([A-Z ]+) SUBCOMMANDS:$", text, re.M)
    assert groups == ["SEE WHAT HAPPENS", "PUSH AND CALL", "SET UP", "RUN", "TEST"], text
    assert text.index("  doctor ") < text.index("  engine ")


def test_the_help_of_bindings_names_its_conditions():
    text = run("bindings", "--help").stdout
    for option in ("--user", "--provider", "--verdict", "--age"):
        assert option in text


def test_a_user_whose_name_begins_like_an_option_can_be_asked_for(make_engine):
    engine = make_engine()
    for command in ("trace", "doctor", "bindings"):
        done = run(command, "--settings", engine.settings, "--", "-h@x")
        text = done.stdout + done.stderr
        assert done.returncode == 1 and "OVERVIEW" not in text and "Unknown option" not in text, done
