# SPDX-License-Identifier: MIT
"""What tools say of the packages, and what they must have in common with the sources."""

import re
import subprocess

import pytest

from servers import ROOT

UNITS = [ROOT / "debian" / name for name in ("pushwake.service", "pushwake.pushwake-backup.service")]


def test_lintian_finds_no_error(packages):
    changes = next(packages["pushwake"].parent.glob("*.changes"))
    # Names of releases and libraries are those of the Debian that lintian itself is of.
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", changes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_library_finds_all_its_symbols_in_what_its_package_asks_for(packages):
    wanted = subprocess.run(["dpkg-deb", "-f", packages["libpushwake1"], "Depends"], capture_output=True, text=True, check=True).stdout
    for library in ("libssl3", "libnghttp2-14", "libjansson4", "libsqlite3-0"):
        assert library in wanted
    assert "-dev" not in wanted and "swift" not in wanted


@pytest.mark.parametrize("page", sorted((ROOT / ".build/stage/man").glob("*")), ids=lambda page: page.name)
def test_a_manual_page_is_well_formed(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_hardened(unit):
    if subprocess.run(["systemd-analyze", "security", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("no systemd here")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=19", unit], capture_output=True,
                          text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd looks at no unit that is not loaded")
    assert done.returncode == 0, done.stdout[-400:] + done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_says_nothing_that_systemd_does_not_know(tmp_path, unit):
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.M)
    text = re.sub(r"^(User|Group)=.*\n", "", text, flags=re.M)
    name = unit.name.removeprefix("pushwake.") if "backup" in unit.name else unit.name
    (tmp_path / name).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / name], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if name in line]
    assert said == []
