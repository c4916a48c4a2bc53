# SPDX-License-Identifier: MIT
"""The module and the Kamailio it is loaded into were made for each other, or it says so."""

import shutil
import subprocess

import pytest

from servers import LIBRARY, MODULE, ROOT

GLUE = ROOT / "kamailio-glue"


# What another release of the series may have one pointer further: the answer of a branch, the list of branches.
MOVED = ["\tint last_received;", "\tstruct ua_client *uac;"]


def build_with_moved_field(tmp_path, field):
    """A module made with headers in which this field stands one pointer further."""
    headers = next(path for path in (ROOT / ".cache").glob("kamailio-*") if (path / "cflags").exists())
    shutil.copytree(headers, tmp_path / "headers")
    table = tmp_path / "headers/modules/tm/h_table.h"
    text = table.read_text()
    assert text.count(field) == 1
    table.write_text(text.replace(field, "\tvoid *moved;\n" + field))
    module = tmp_path / "pushwake.so"
    subprocess.run(
        ["make", "-s", "-C", GLUE, f"KAMAILIO_SRC={tmp_path / 'headers'}", f"PUSHWAKE_LIB={LIBRARY.parent}",
         f"OUT={tmp_path / 'objects'}", f"MODULE={module}"], check=True)
    return module


@pytest.mark.parametrize("field", MOVED, ids=["answer", "branches"])
def test_a_module_for_another_layout_does_not_start(make_kamailio, tmp_path, field):
    module = build_with_moved_field(tmp_path, field)
    kamailio = make_kamailio()
    kamailio.config.write_text(kamailio.config.read_text().replace(str(MODULE), str(module)))
    assert str(module) in kamailio.config.read_text()
    kamailio.launch()
    assert kamailio.process.wait(10) != 0
    said = kamailio.log_text()
    assert "lays out transactions otherwise" in said and "build it again" in said
