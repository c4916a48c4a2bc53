# SPDX-License-Identifier: MIT
"""The module and the Kamailio it is loaded into were made for each other, or it says so."""

import os
import re
import shutil
import subprocess

import pytest

from servers import LIBRARY, MODULE, ROOT

GLUE = ROOT / "kamailio-glue"


# What is said here does not depend on the optimiser, which takes most of the time.
UNOPTIMISED = {**os.environ, "CFLAGS": "-O0"}

# What another release of the series may have one pointer further: the answer of a branch, the list of branches.
MOVED = ["\tint last_received;", "\tstruct ua_client *uac;"]


def installed_headers():
    """The headers of the release that is installed."""
    said = subprocess.run(["kamailio", "-v"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"version: kamailio (\S+)", said)[1]
    return ROOT / ".cache" / f"kamailio-{version}"


def copy_headers(tmp_path):
    shutil.copytree(installed_headers(), tmp_path / "headers")


def build(tmp_path):
    """Makes a module with these headers; what the compiler said when it cannot."""
    done = subprocess.run(
        ["make", "-s", "-C", GLUE, f"KAMAILIO_SRC={tmp_path / 'headers'}", f"PUSHWAKE_LIB={LIBRARY.parent}",
         f"OUT={tmp_path / 'objects'}", f"MODULE={tmp_path / 'pushwake.so'}"], capture_output=True, text=True, check=False,
        env=UNOPTIMISED)
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


@pytest.fixture
def checkout(tmp_path):
    """A checkout that was built for an older Kamailio before."""
    shutil.copytree(GLUE, tmp_path / "kamailio-glue", ignore=shutil.ignore_patterns("*.so"))
    shutil.copytree(ROOT / "include", tmp_path / "include")
    older = tmp_path / ".cache" / "kamailio-0.0.1"
    older.mkdir(parents=True)
    (older / "cflags").write_text("-DSHM_MMAP\n")
    (tmp_path / ".cache" / installed_headers().name).symlink_to(installed_headers())
    return tmp_path


def objects(checkout):
    return {path.name: path.stat().st_mtime_ns for path in (checkout / ".build").rglob("*.o")}


def make(checkout, *arguments):
    command = ["make", "-s", "-C", checkout / "kamailio-glue", f"PUSHWAKE_LIB={LIBRARY.parent}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=UNOPTIMISED)


def test_the_headers_of_the_installed_release_are_taken(checkout):
    done = make(checkout)
    assert done.returncode == 0, done.stderr
    before = objects(checkout)
    assert make(checkout).returncode == 0
    assert objects(checkout) == before, "nothing is made twice"


def test_other_headers_make_all_objects_anew(checkout):
    assert make(checkout).returncode == 0
    other = checkout / "other"
    shutil.copytree(installed_headers(), other)
    # As an unpacked tarball has them: older than the objects.
    for path in other.rglob("*"):
        os.utime(path, (1, 1))
    before = objects(checkout)
    assert make(checkout, f"KAMAILIO_SRC={other}").returncode == 0
    after = objects(checkout)
    assert before and [name for name in before if after[name] == before[name]] == []


def test_a_source_that_is_none_is_named(tmp_path):
    done = subprocess.run([ROOT / "scripts/make/kamailio-headers.sh", tmp_path / "headers"], capture_output=True, text=True,
                          env={**os.environ, "KAMAILIO_SOURCE": str(tmp_path / "nothing")}, check=False)
    assert done.returncode == 1 and f"{tmp_path}/nothing is not a source of Kamailio" in done.stderr
    assert re.search(r"https://www.kamailio.org/pub/kamailio/[0-9.]+/src/kamailio-[0-9.]+_src.tar.gz", done.stderr)


def test_a_source_of_another_series_is_named(tmp_path):
    (tmp_path / "source/src").mkdir(parents=True)
    (tmp_path / "source/src/Makefile.defs").write_text("VERSION = 4\nPATCHLEVEL = 4\nSUBLEVEL = 1\n")
    done = subprocess.run([ROOT / "scripts/make/kamailio-headers.sh", tmp_path / "headers"], capture_output=True, text=True,
                          env={**os.environ, "KAMAILIO_SOURCE": str(tmp_path / "source")}, check=False)
    assert done.returncode == 1 and "is Kamailio 4.4, and " in done.stderr and "is installed" in done.stderr


def test_a_tree_that_was_moved_is_built_anew(tmp_path):
    plan = ROOT / ".build/dist/release.yaml"
    for place, stays in (("moved", False), ("own", True)):
        tree = tmp_path / place
        (tree / ".build/dist").mkdir(parents=True)
        (tree / "scripts/make").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/make/unmoved.sh", tree / "scripts/make")
        text = plan.read_text() if place == "moved" else plan.read_text().replace(f"{ROOT}/", f"{tree}/")
        (tree / ".build/dist/release.yaml").write_text(text)
        done = subprocess.run([tree / "scripts/make/unmoved.sh", "dist"], capture_output=True, text=True, check=True)
        assert (tree / ".build/dist").exists() == stays
        assert ("building anew" in done.stdout) != stays
