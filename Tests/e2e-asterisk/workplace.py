# SPDX-License-Identifier: MIT
"""Where in the chroot a test process has its files."""

import os
import pathlib
import shutil
import tempfile


class Workplace:
    """A directory in the chroot for what this process starts: others test in the same chroot."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        everybody = self.root / "var/lib/pushwake-test"
        everybody.mkdir(exist_ok=True)
        for left in everybody.iterdir():  # by processes that were killed
            if not pathlib.Path("/proc", left.name).exists():
                shutil.rmtree(left, ignore_errors=True)
        self.path = everybody / str(os.getpid())
        self.path.mkdir()
        self._links = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-"))
        self._count = 0

    def make(self, name):
        """A new directory. Its path in the chroot is short: a socket's must have fewer than 108 bytes."""
        self._count += 1
        made = self.path / f"{self._count}-{name[:24]}"
        made.mkdir()
        return made

    def link(self, directory):
        """The directory's short path for programs outside of the chroot, wherever the tree lies."""
        made = self._links / str(len(list(self._links.iterdir())))
        made.symlink_to(directory)
        return made

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self._links, ignore_errors=True)
