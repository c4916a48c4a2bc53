# SPDX-License-Identifier: MIT
"""Which version a tree has, what a release refuses, and that two builds of one commit are the same."""

import json
import os
import re
import shutil
import subprocess

import pytest

from servers import PUSHWAKE, ROOT

SCRIPTS = ("version.sh", "release.sh", "debian_changelog.py")
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
            (("NAME", "A"), ("EMAIL", "a@example.com"), ("DATE", "2026-11-22T08:30:00Z"))}
QUIET = {name: value for name, value in os.environ.items() if name not in ("PUSHWAKE_VERSION", "SOURCE_DATE_EPOCH")}


class Tree:
    """A small git repository with the scripts and a changelog."""

    def __init__(self, path):
        self.path = path
        (path / "scripts/make").mkdir(parents=True)
        for name in SCRIPTS:
            shutil.copy(ROOT / "scripts/make" / name, path / "scripts/make")
        shutil.copy(ROOT / ".gitattributes", path)
        self.write("## 0.1.0 (2026-11-22)\n\n* The first.\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, text):
        (self.path / "CHANGELOG.md").write_text(f"# Changes\n\n{text}")

    def git(self, *words, **environment):
        return subprocess.run(["git", *words], cwd=self.path, env=QUIET | IDENTITY | environment, capture_output=True, text=True, check=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")

    def run(self, name, *words, **environment):
        return subprocess.run([self.path / "scripts/make" / name, *words], env=QUIET | IDENTITY | environment, capture_output=True,
                              text=True, check=False)

    def version(self, **environment):
        done = self.run("version.sh", **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def head(self):
        return self.git("rev-parse", "HEAD")[:7]


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "tree")


def test_commits_are_counted_from_the_heading_and_from_the_tag(tree):
    assert tree.version() == "0.1.0"
    tree.commit()
    assert tree.version() == f"0.1.0+1.g{tree.head()}"
    tree.git("tag", "-a", "-m", "0.1.0", "v0.1.0")
    assert tree.version() == "0.1.0"
    tree.write("## Unreleased\n\n* More.\n\n## 0.1.0 (2026-11-22)\n\n* The first.\n")
    assert tree.version() == f"0.1.0+0.g{tree.head()}.dirty"
    tree.commit()
    tree.commit()
    assert tree.version() == f"0.1.0+2.g{tree.head()}"
    tree.write("## 0.2.0 (2026-12-01)\n\n* More.\n\n## 0.1.0 (2026-11-22)\n\n* The first.\n")
    tree.commit()
    assert tree.version() == "0.2.0"


def test_each_is_newer_for_dpkg_than_the_one_before(tree):
    versions = [f"{tree.version()}~deb12"]
    for _ in range(11):
        tree.commit()
        versions.append(f"{tree.version()}~deb12")
    versions += [versions[-1].replace("~deb12", ".dirty.20261128T0100~deb12"), versions[-1].replace("~deb12", ".dirty.20261128T0101~deb12"), "0.1.1~deb12"]
    for older, later in zip(versions, versions[1:]):
        assert subprocess.run(["dpkg", "--compare-versions", older, "lt", later], check=False).returncode == 0, (older, later)


def test_a_shallow_clone_and_an_archive_have_the_time_of_their_commit(tree, tmp_path):
    tree.commit()
    wanted = f"0.1.0+20261122T0830.g{tree.head()}"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{tree.path}", tmp_path / "shallow"], check=True)
    (tmp_path / "archive").mkdir()
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=tree.path, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-xf", "-"], cwd=tmp_path / "archive", input=packed, check=True)
    for place in ("shallow", "archive"):
        done = subprocess.run([tmp_path / place / "scripts/make/version.sh"], env=QUIET, capture_output=True, text=True, check=False)
        assert done.stdout == wanted + "\n", done.stderr
        epoch = subprocess.run([tmp_path / place / "scripts/make/version.sh", "--epoch"], env=QUIET, capture_output=True, text=True, check=True)
        assert epoch.stdout == tree.git("log", "-1", "--format=%ct")


def test_an_archive_of_a_tag_is_the_release(tree, tmp_path):
    tree.git("tag", "v0.1.0")
    packed = subprocess.run(["git", "archive", "v0.1.0"], cwd=tree.path, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-xf", "-"], cwd=tmp_path, input=packed, check=True)
    assert subprocess.run([tmp_path / "scripts/make/version.sh"], env=QUIET, capture_output=True, text=True, check=True).stdout == "0.1.0\n"


def test_a_copy_without_git_is_below_all_others(tree):
    shutil.rmtree(tree.path / ".git")
    assert tree.version() == "0.1.0+0.unknown"
    assert tree.version(PUSHWAKE_VERSION="0.1.0+local") == "0.1.0+local"
    done = tree.run("version.sh", PUSHWAKE_VERSION="0.1.0-3")
    assert done.returncode == 1 and 'version: "0.1.0-3" has other characters' in done.stderr


def test_debians_changelog_is_ours(tree):
    tree.write("## Unreleased\n\n* [One](x.md) with `code`, and\n  more.\n\n## 0.1.0 (2026-11-22)\n\n* The first.\n")
    said = tree.run("debian_changelog.py", "0.1.0+3.gabc1234", "1795829933", "~deb12").stdout
    assert said.startswith("pushwake (0.1.0+3.gabc1234~deb12) unstable; urgency=medium\n\n  * One with code, and more.\n\n -- ")
    done = subprocess.run(["dpkg-parsechangelog", "-l", "-", "-S", "Version", "--all"], input=said, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "pushwake (0.1.0) unstable" in said and " -- The PushWake authors <maintainers@pushwake.invalid>  Sun, 22 Nov 2026" in said


def test_a_release_refuses_what_is_not_one(tree):
    (tree.path / "new").write_text("x")
    done = tree.run("release.sh", MAKE="true")
    assert done.returncode == 1 and "changes that are not committed:\n?? new" in done.stderr
    tree.commit()
    done = tree.run("release.sh", MAKE="false")
    assert done.returncode == 1 and "make test failed: nothing is tagged" in done.stderr
    tree.git("tag", "v0.1.0")
    done = tree.run("release.sh", MAKE="true")
    assert done.returncode == 1 and "v0.1.0 is tagged already" in done.stderr
    tree.write("## Unreleased\n\n* More.\n\n## 0.1.0 (2026-11-22)\n\n* The first.\n")
    tree.commit()
    done = tree.run("release.sh", MAKE="true")
    assert done.returncode == 1 and 'CHANGELOG.md is "Unreleased": name the release' in done.stderr


def test_a_release_is_tagged_once_all_is_well(tree, tmp_path):
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$1 $PUSHWAKE_VERSION" >> ../targets\nmkdir -p .build/repository .build/tarball\necho > .build/tarball/a.tar.gz\n')
    make.chmod(0o755)
    tree.commit()
    (tree.path / ".gitignore").write_text(".build\n")
    tree.commit()
    done = tree.run("release.sh", MAKE=str(make))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "targets").read_text().split("\n") == [f"{name} 0.1.0" for name in ("test", "test-packages", "repository", "tarball")] + [""]
    assert tree.git("tag", "--points-at", "HEAD") == "v0.1.0\n" and tree.version() == "0.1.0"
    assert sorted(path.name for path in (tree.path / ".build/release/0.1.0").iterdir()) == ["SHA256SUMS", "a.tar.gz", "repository"]


def test_all_say_the_same_version(packages):
    said = subprocess.run([PUSHWAKE, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert (ROOT / ".build/stage/release").read_text().split()[0] == said
    for page in (ROOT / ".build/stage/man").iterdir():
        assert f'"PushWake {said}"'.replace("-", "\\-") in page.read_text().splitlines()[2], page.name
    for path in packages.values():
        version = subprocess.run(["dpkg-deb", "-f", path, "Version"], capture_output=True, text=True, check=True).stdout.strip()
        assert re.fullmatch(re.escape(said) + r"(\.[0-9T]+)?~\w+", version), path


def content(package, name):
    """A file of a package."""
    listing = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    return subprocess.run(["tar", "-xOf", "-", f"./{name}"], input=listing, capture_output=True, check=True).stdout


@pytest.mark.parametrize("name", ["libpushwake1", "pushwake"])
def test_a_package_lists_what_is_linked_into_it(packages, name):
    found = json.loads(content(packages[name], f"usr/share/doc/{name}/pushwake.spdx.json"))
    assert found["spdxVersion"] == "SPDX-2.3" and found["dataLicense"] == "CC0-1.0"
    kinds = {}
    names = {row["SPDXID"]: row for row in found["packages"]}
    assert len(names) == len(found["packages"])
    for row in found["relationships"]:
        kinds.setdefault(row["relationshipType"], set()).add(names[row["relatedSpdxElement"]]["name"])
    assert {"swift", "swift-argument-parser", "hiredis"} <= kinds["STATIC_LINK"]
    needed = set()
    for file in (PUSHWAKE, ROOT / ".build/stage/lib/libpushwake.so.1"):
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout))
    assert kinds["DYNAMIC_LINK"] == needed
    notice = content(packages[name], f"usr/share/doc/{name}/copyright").decode()
    for row in found["packages"]:
        if row["name"] in kinds["STATIC_LINK"]:
            assert row["versionInfo"] and row["licenseConcluded"].split()[0] in notice, row["name"]


def test_two_builds_of_one_commit_are_the_same(tmp_path):
    """Another directory, another time, another umask; then the packages and the tarball byte for byte."""
    version, epoch, _ = (ROOT / ".build/stage/release").read_text().split()
    other = tmp_path / "somewhere"
    other.mkdir()
    leave = [f"--exclude=./{name}" for name in (".git", ".build", ".cache")]
    packed = subprocess.run(["tar", "-cf", "-", *leave, "."], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-xf", "-"], cwd=other, input=packed, check=True)
    (other / ".cache").mkdir()
    for path in (ROOT / ".cache").glob("kamailio-[0-9]*"):
        if path.is_dir() and (path / "cflags").exists():
            shutil.copytree(path, other / ".cache" / path.name)

    def build(root):
        environment = QUIET | {"PUSHWAKE_VERSION": version.removesuffix(".dirty"), "SOURCE_DATE_EPOCH": epoch}
        for script in ("build-swift.sh", "deb.sh", "tarball.sh"):
            done = subprocess.run([root / "scripts/make" / script], env=environment, capture_output=True, text=True, check=False,
                                  umask=0o077 if root == other else 0o022)
            assert done.returncode == 0, f"{script}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        made = [*root.glob(".build/deb/*.deb"), *root.glob(".build/tarball/*.tar.gz"), *root.glob(".build/stage/*/*"),
                root / ".build/stage/pushwake.spdx.json"]
        return {str(path.relative_to(root)): path.read_bytes() for path in made if path.is_file() and "/kamailio/" not in str(path)}

    first, second = build(ROOT), build(other)
    assert set(first) == set(second) and len(first) > 20
    different = " ".join(sorted(name for name in first if first[name] != second[name]))
    assert different == ""
