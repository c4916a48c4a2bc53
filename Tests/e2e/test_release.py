# SPDX-License-Identifier: MIT
"""The module and the Kamailio it is loaded into were made for each other, or it says so."""

import re
import shutil
import subprocess

import pytest

from servers import LIBRARY, MODULE, ROOT

GLUE = ROOT / "kamailio-glue"


# What another release of the series may have one pointer further: the answer of a branch, the list of branches.
MOVED = ["\tint last_received;", "\tstruct ua_client *uac;"]


def copy_headers(tmp_path):
    headers = next(path for path in (ROOT / ".cache").glob("kamailio-*") if (path / "cflags").exists())
    shutil.copytree(headers, tmp_path / "headers")


def build(tmp_path):
    """Makes a module with these headers; what the compiler said when it cannot."""
    done = subprocess.run(
        ["make", "-s", "-C", GLUE, f"KAMAILIO_SRC={tmp_path / 'headers'}", f"PUSHWAKE_LIB={LIBRARY.parent}",
         f"OUT={tmp_path / 'objects'}", f"MODULE={tmp_path / 'pushwake.so'}"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def build_with_moved_field(tmp_path, field):
    """A module made with headers in which this field stands one pointer further."""
    copy_headers(tmp_path)
    table = tmp_path / "headers/modules/tm/h_table.h"
    text = table.read_text()
    assert text.count(field) == 1
    table.write_text(text.replace(field, "\tvoid *moved;\n" + field))
    assert build(tmp_path) == ""
    return tmp_path / "pushwake.so"


def build_for(tmp_path, version):
    """The same with the headers of this version, as far as their number goes."""
    copy_headers(tmp_path)
    flags = tmp_path / "headers/cflags"
    flags.write_text(re.sub(r"-DVERSIONVAL=\d+", f"-DVERSIONVAL={version}", flags.read_text()))
    return build(tmp_path)


def refusal(kamailio, module):
    """What a Kamailio says that does not start with this module."""
    kamailio.config.write_text(kamailio.config.read_text().replace(str(MODULE), str(module)))
    assert str(module) in kamailio.config.read_text()
    kamailio.launch()
    assert kamailio.process.wait(10) != 0
    return kamailio.log_text()


def test_no_module_is_built_for_a_release_that_nobody_has_looked_at(tmp_path):
    assert "pushwake.so is for Kamailio 5.6 to 6.1" in build_for(tmp_path, 6002000)


def test_a_module_for_another_series_does_not_start(make_kamailio, tmp_path):
    assert build_for(tmp_path, 6001004) == ""
    said = refusal(make_kamailio(), tmp_path / "pushwake.so")
    assert "pushwake.so for Kamailio 6.1.x, not 5.6: see docs/kamailio.md, Other releases" in said


@pytest.mark.parametrize("field", MOVED, ids=["answer", "branches"])
def test_a_module_for_another_layout_does_not_start(make_kamailio, tmp_path, field):
    module = build_with_moved_field(tmp_path, field)
    said = refusal(make_kamailio(), module)
    assert "lays out transactions otherwise" in said and "build it again" in said
