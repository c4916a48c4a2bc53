#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian sid with Asterisk 22 under .cache/asterisk-sid, once, for the
# build and the tests of asterisk-glue. Debian 12 has no asterisk package.
#
# usage: scripts/chroot/asterisk-chroot.sh [DIR]      prints DIR when it is complete
#
# Needs root and debootstrap. DEBIAN_MIRROR chooses another mirror. With ASTERISK_SOURCE, an unpacked source of Asterisk,
# it is that Asterisk: see asterisk-source.sh.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
[ -z "${ASTERISK_SOURCE:-}" ] || exec "$here/scripts/chroot/asterisk-source.sh" "$ASTERISK_SOURCE"
root=${1:-$here/.cache/asterisk-sid}
name=asterisk-chroot
recipe=1
. "$here/scripts/chroot/chroot.sh"

if is_made $recipe; then
    echo "$root"
    exit 0
fi
lock_root
if is_made $recipe; then
    echo "$root"
    exit 0
fi
: >"$log"

make_debian sid
echo "deb-src $mirror sid main" >"$root/etc/apt/sources.list.d/pushwake-source.list"
in_root apt-get update || fail "apt-get update failed"
in_root apt-get install -y asterisk asterisk-dev gcc g++ make libc6-dev libssl-dev xz-utils \
    libnghttp2-14 libjansson4 libsqlite3-0 libhiredis1.1.0 || fail "installing asterisk failed"

cp "$here/asterisk-glue/pjsip-headers.sh" "$root/var/tmp/"
in_root sh /var/tmp/pjsip-headers.sh /usr/include/asterisk-pjproject || fail "preparing the PJSIP headers failed"

in_root apt-get clean
echo "$recipe" >"$root/.pushwake-recipe"
echo "$root"
