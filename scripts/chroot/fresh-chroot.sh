#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a fresh minimal Debian in a directory: a copy of .cache/fresh-SUITE, which debootstrap makes once. It starts no
# services.
#
# usage: scripts/chroot/fresh-chroot.sh SUITE DIR
#
# Needs root and debootstrap. DEBIAN_MIRROR chooses another mirror.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
suite=${1:?usage: fresh-chroot.sh SUITE DIR}
copy=${2:?usage: fresh-chroot.sh SUITE DIR}
root=$here/.cache/fresh-$suite
name=fresh-chroot
recipe=1
. "$here/scripts/chroot/chroot.sh"

lock_root
: >"$log"
if ! is_made $recipe; then
    make_debian "$suite"
    in_root apt-get update || fail "apt-get update failed"
    echo "$recipe" >"$root/.pushwake-recipe"
fi
rm -rf "$copy"
# One file system: never what a kernel shows in /proc.
cp -ax "$root" "$copy"
rm "$copy/.pushwake-recipe"
