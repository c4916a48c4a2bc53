#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian with a later Kamailio under .cache/kamailio-SUITE-root, once, and builds
# pushwake.so for it: trixie has 6.0, sid has 6.1.
#
# usage: scripts/chroot/kamailio-chroot.sh SUITE     prints its directory when it is complete
#
# The module is left in DIR/pushwake/pushwake.so. Needs root, debootstrap and `make build`. DEBIAN_MIRROR chooses
# another mirror. KAMAILIO_SOURCE names a source tree of that Kamailio, for a mirror that has no longer its source package.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
suite=${1:?usage: kamailio-chroot.sh trixie|sid}
root=$here/.cache/kamailio-$suite-root
name=kamailio-chroot
recipe=2
. "$here/scripts/chroot/chroot.sh"

make_root() {
    make_debian "$suite"
    in_root apt-get update || fail "apt-get update failed"
    in_root apt-get install -y kamailio kamailio-tls-modules kamailio-lua-modules kamailio-sqlite-modules gcc make libc6-dev dpkg-dev \
        ca-certificates bison flex libssl-dev pkg-config libnghttp2-14 libjansson4 libsqlite3-0 libhiredis1.1.0 \
        || fail "installing kamailio failed"
    in_root apt-get clean
    echo "$recipe" >"$root/.pushwake-recipe"
}

# The sources are copied, since they are newer than what was built last time.
build_module() {
    # Whole: what a release has moved or dropped would be built as well.
    rm -rf "$root/pushwake/kamailio-glue" "$root/pushwake/include" "$root/pushwake/objects"
    mkdir -p "$root/pushwake/scripts/make"
    cp "$here/scripts/make/kamailio-headers.sh" "$root/pushwake/scripts/make/"
    cp -R "$here/kamailio-glue" "$here/include" "$root/pushwake/"
    cp "$here/.build/stage/lib/libpushwake.so.1" "$root/pushwake/" || fail "run make build first"
    if [ -n "${KAMAILIO_SOURCE:-}" ] && [ ! -d "$root/pushwake/source" ]; then
        cp -R "$KAMAILIO_SOURCE" "$root/pushwake/source"
    fi
    [ -d "$root/pushwake/source" ] && source=/pushwake/source || source=
    # shellcheck disable=SC2086
    in_root sh /pushwake/scripts/make/kamailio-headers.sh /pushwake/headers $source || fail "no headers of Kamailio"
    in_root make -s -C /pushwake/kamailio-glue KAMAILIO_SRC=/pushwake/headers PUSHWAKE_LIB=/pushwake OUT=/pushwake/objects \
        MODULE=/pushwake/pushwake.so || fail "building the module failed"
}

lock_root
: >"$log"
is_made $recipe || make_root
build_module
echo "$root"
