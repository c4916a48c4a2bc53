#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian sid with an Asterisk that is built from its source, such as Asterisk 20, which no Debian has, beside the
# one with Debian's Asterisk 22. Once for each version; prints where.
#
# usage: scripts/chroot/asterisk-source.sh SOURCE      an unpacked source of Asterisk
#
# Needs root and debootstrap. Asterisk's own build fetches PJSIP; EXTERNALS names a directory that has its tarball.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
source=$(cd "${1:?usage: asterisk-source.sh SOURCE}" && pwd)
version=$(cat "$source/.version")
root=$here/.cache/asterisk-$version
name=asterisk-source
recipe=1
. "$here/scripts/chroot/chroot.sh"

debian=$(ASTERISK_SOURCE="" "$here/scripts/chroot/asterisk-chroot.sh")
lock_root
if is_made $recipe; then
    echo "$root"
    exit 0
fi
: >"$log"

rm -rf "$root"
cp -a "$debian" "$root"
rm -f "$root/.pushwake-recipe"
# The unit, by which tests run Asterisk as a package does, and the sounds are Debian's.
cp "$root/usr/lib/systemd/system/asterisk.service" "$root/var/tmp/"
in_root apt-get update || fail "apt-get update failed"
in_root apt-get install -y build-essential bzip2 libcap-dev libedit-dev libjansson-dev libsqlite3-dev libsrtp2-dev \
    libssl-dev libxml2-dev patch pkg-config uuid-dev wget || fail "installing what Asterisk is built with failed"
in_root dpkg --purge --force-depends asterisk asterisk-modules asterisk-dev || fail "removing Debian's Asterisk failed"
cp "$root/var/tmp/asterisk.service" "$root/usr/lib/systemd/system/"

cp -a "$source" "$root/usr/src/asterisk"
mkdir -p "$root/usr/src/externals"
[ -z "${EXTERNALS:-}" ] || cp "$EXTERNALS"/* "$root/usr/src/externals/"
cat >"$root/usr/src/build" <<'BUILD'
set -e
cd /usr/src/asterisk
./configure --prefix=/usr --sysconfdir=/etc --localstatedir=/var --libdir="/usr/lib/$(gcc -print-multiarch)" \
    --with-pjproject-bundled --with-externals-cache=/usr/src/externals
make menuselect.makeopts
menuselect/menuselect --disable BUILD_NATIVE --disable-category MENUSELECT_CORE_SOUNDS \
    --disable-category MENUSELECT_MOH --disable-category MENUSELECT_EXTRA_SOUNDS menuselect.makeopts
make -j"$(nproc)"
make install
cp -a /var/lib/asterisk/documentation /usr/share/asterisk/
cp -r include/asterisk.h include/asterisk /usr/include/
rm -rf /usr/include/asterisk-pjproject
mkdir /usr/include/asterisk-pjproject
for part in pjlib pjlib-util pjnath pjmedia pjsip; do
    cp -r "third-party/pjproject/source/$part/include/." /usr/include/asterisk-pjproject/
done
getent passwd asterisk >/dev/null || useradd --system asterisk
rm -rf /usr/src/asterisk /usr/src/externals
BUILD
in_root sh /usr/src/build || fail "building Asterisk $version failed"

in_root apt-get clean
echo "$recipe" >"$root/.pushwake-recipe"
echo "$root"
