#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian sid with Asterisk 22 under .cache/asterisk-sid, once, for the
# build and the tests of asterisk-glue. Debian 12 has no asterisk package.
#
# usage: scripts/asterisk-chroot.sh [DIR]      prints DIR when it is complete
#
# Needs root and debootstrap. DEBIAN_MIRROR chooses another mirror.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-$here/.cache/asterisk-sid}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
recipe=1
log=$root.log

fail() {
    echo "asterisk-chroot: $1" >&2
    [ ! -s "$log" ] || tail -n 15 "$log" >&2
    exit 1
}

in_root() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >>"$log" 2>&1
}

if [ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "$root"
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root; run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"

mkdir -p "$(dirname "$root")"
# Two test runs at once must not both build it.
exec 9>"$root.lock"
flock 9
if [ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "$root"
    exit 0
fi
: >"$log"

if [ ! -e "$root/etc/debian_version" ] || [ -d "$root/debootstrap" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase sid "$root" "$mirror" >>"$log" 2>&1 || fail "debootstrap failed"
fi
cat >"$root/etc/apt/apt.conf.d/90pushwake" <<'EOF'
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
EOF
echo "deb-src $mirror sid main" >"$root/etc/apt/sources.list.d/pushwake-source.list"
# No package may start a service in here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

in_root apt-get update || fail "apt-get update failed"
in_root apt-get install -y asterisk asterisk-dev gcc g++ make libc6-dev libssl-dev xz-utils \
    libnghttp2-14 libjansson4 libsqlite3-0 libhiredis1.1.0 || fail "installing asterisk failed"

cp "$here/asterisk-glue/pjsip-headers.sh" "$root/var/tmp/"
in_root sh /var/tmp/pjsip-headers.sh /usr/include/asterisk-pjproject || fail "preparing the PJSIP headers failed"

in_root apt-get clean
echo "$recipe" >"$root/.pushwake-recipe"
echo "$root"
