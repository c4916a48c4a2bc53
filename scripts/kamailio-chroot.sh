#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian with a later Kamailio under .cache/kamailio-SUITE-root, once, and builds
# pushwake.so for it: trixie has 6.0, sid has 6.1.
#
# usage: scripts/kamailio-chroot.sh SUITE     prints its directory when it is complete
#
# The module is left in DIR/pushwake/pushwake.so. Needs root, debootstrap and `make build`. DEBIAN_MIRROR chooses
# another mirror. KAMAILIO_SOURCE names a source tree of that Kamailio, for a mirror that has no longer its source package.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:?usage: kamailio-chroot.sh trixie|sid}
root=$here/.cache/kamailio-$suite-root
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
recipe=1
log=$root.log

fail() {
    echo "kamailio-chroot: $1" >&2
    [ ! -s "$log" ] || tail -n 15 "$log" >&2
    exit 1
}

in_root() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >>"$log" 2>&1
}

make_root() {
    if [ ! -e "$root/etc/debian_version" ] || [ -d "$root/debootstrap" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase "$suite" "$root" "$mirror" >>"$log" 2>&1 || fail "debootstrap failed"
    fi
    cat >"$root/etc/apt/apt.conf.d/90pushwake" <<'CONF'
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
CONF
    # No package may start a service in here.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    in_root apt-get update || fail "apt-get update failed"
    in_root apt-get install -y kamailio kamailio-tls-modules kamailio-lua-modules gcc make libc6-dev dpkg-dev \
        ca-certificates bison flex libssl-dev pkg-config libnghttp2-14 libjansson4 libsqlite3-0 libhiredis1.1.0 \
        || fail "installing kamailio failed"
    in_root apt-get clean
    echo "$recipe" >"$root/.pushwake-recipe"
}

# The sources are copied, since they are newer than what was built last time.
build_module() {
    mkdir -p "$root/pushwake/scripts"
    cp "$here/scripts/kamailio-headers.sh" "$root/pushwake/scripts/"
    cp -R "$here/kamailio-glue" "$here/include" "$root/pushwake/"
    cp "$here/.build/stage/lib/libpushwake.so.1" "$root/pushwake/" || fail "run make build first"
    rm -f "$root/pushwake/kamailio-glue/pushwake.so"
    if [ -n "${KAMAILIO_SOURCE:-}" ] && [ ! -d "$root/pushwake/source" ]; then
        cp -R "$KAMAILIO_SOURCE" "$root/pushwake/source"
    fi
    [ -d "$root/pushwake/source" ] && source=/pushwake/source || source=
    # shellcheck disable=SC2086
    in_root sh /pushwake/scripts/kamailio-headers.sh /pushwake/headers $source || fail "no headers of Kamailio"
    in_root make -s -C /pushwake/kamailio-glue KAMAILIO_SRC=/pushwake/headers PUSHWAKE_LIB=/pushwake OUT=/pushwake/objects \
        MODULE=/pushwake/pushwake.so || fail "building the module failed"
}

[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root; run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
mkdir -p "$(dirname "$root")"
# Two test runs at once must not both build it.
exec 9>"$root.lock"
flock 9
: >"$log"
[ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$recipe" ] || make_root
build_module
echo "$root"
