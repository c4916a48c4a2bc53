# SPDX-License-Identifier: MIT
"""A store on a file system that cannot do what a database needs says that, and not that a disk is broken or a process in the way."""

import os
import subprocess

import pytest

from servers import PUSHWAKE

# What FUSE, 9p, NFS without its lock service and some container file systems answer, for the files of one directory.
POOR_FILES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_there(int fd)
{
	char link[64], path[4096];
	ssize_t count;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	count = readlink(link, path, sizeof(path) - 1);
	if (count < 0)
		return 0;
	path[count] = 0;
	return strncmp(path, getenv("POOR_FILES"), strlen(getenv("POOR_FILES"))) == 0;
}

#define MAP(name) \\
void *name(void *at, size_t size, int rights, int flags, int fd, off64_t offset) \\
{ \\
	void *(*get)(void *, size_t, int, int, int, off64_t) = dlsym(RTLD_NEXT, #name); \\
	if (getenv("NO_MMAP") && fd >= 0 && (flags & MAP_SHARED) && is_there(fd)) { \\
		errno = atoi(getenv("NO_MMAP")); \\
		return MAP_FAILED; \\
	} \\
	return get(at, size, rights, flags, fd, offset); \\
}
MAP(mmap)
MAP(mmap64)

#define CONTROL(name) \\
int name(int fd, int command, ...) \\
{ \\
	int (*get)(int, int, void *) = dlsym(RTLD_NEXT, #name); \\
	va_list rest; \\
	va_start(rest, command); \\
	void *argument = va_arg(rest, void *); \\
	va_end(rest); \\
	if (getenv("NO_LOCKS") && (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK) && is_there(fd)) { \\
		errno = atoi(getenv("NO_LOCKS")); \\
		return -1; \\
	} \\
	return get(fd, command, argument); \\
}
CONTROL(fcntl)
CONTROL(fcntl64)
"""

ENODEV, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP = 19, 22, 37, 38, 95


@pytest.fixture(scope="module")
def poor_files(tmp_path_factory):
    built = tmp_path_factory.mktemp("poor") / "poor.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", built, "-", "-ldl"], input=POOR_FILES, text=True, check=True)
    return built


@pytest.mark.parametrize("lack, number, told", [
    ("NO_MMAP", ENODEV, "cannot share memory (mmap)"), ("NO_MMAP", EINVAL, "cannot share memory (mmap)"),
    ("NO_LOCKS", ENOLCK, "cannot lock files"), ("NO_LOCKS", ENOSYS, "cannot lock files"),
    ("NO_LOCKS", EOPNOTSUPP, "cannot lock files")])
def test_what_it_cannot_do_is_told_with_the_remedy(tmp_path, poor_files, lack, number, told):
    place = tmp_path / "store"
    place.mkdir()
    settings = tmp_path / "pushwake.conf"
    settings.write_text(f"engine_socket = {tmp_path}/engine.sock\nstore_path = {place}/bindings.db\n")
    done = subprocess.run(
        [PUSHWAKE, "engine", "--settings", settings], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "LD_PRELOAD": str(poor_files), "POOR_FILES": str(place), lack: str(number)})
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    line, = [line for line in text.splitlines() if "store_path" in line]
    assert f"{place}/bindings.db: its file system {told}" in line and "move it to a local disk" in line
    assert "kernel log" not in line and "another process" not in line


def test_an_ordinary_one_is_taken(tmp_path, poor_files, make_engine, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(poor_files))
        patch.setenv("POOR_FILES", str(tmp_path))
        engine = make_engine()
    assert "bindings" in engine.stats()
