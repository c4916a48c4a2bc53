#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the Debian packages for the release it runs on, from what `make build` has left in .build/stage, and puts them
# into .build/deb. Needs no network: what it takes is here after `make build` and scripts/make/setup.sh --packages.
#
# usage: scripts/make/deb.sh
#
# Kamailio's module is built where Kamailio is installed, Asterisk's where asterisk-dev is.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin

fail() {
    echo "deb: $1" >&2
    exit 1
}

for tool in dpkg-buildpackage dh; do
    command -v $tool >/dev/null || fail "$tool is missing; run scripts/make/setup.sh --packages, with --asterisk too where no Kamailio is wanted"
done
read -r version epoch _ 2>/dev/null <.build/stage/release ||
    fail ".build/stage is missing or old; run make build, or make build-asterisk"
# Packages of a tree that changes between commits are newer each time.
case $version in *.dirty) version=$version.$(date -u +%Y%m%dT%H%M%S) ;; esac

profiles=pkg.pushwake.prebuilt
# Headers of the Kamailio or PJSIP that is installed; others in .cache are not for this release.
needed=
if command -v kamailio >/dev/null; then
    needed=.cache/kamailio-$(kamailio -v | sed -n 's/^version: kamailio \([^ ]*\).*/\1/p')
    [ -f "$needed/cflags" ] || fail "$needed is missing; run scripts/make/kamailio-headers.sh"
else
    profiles=$profiles,pkg.pushwake.nokamailio
fi
if [ -e /usr/include/asterisk.h ]; then
    profiles=$profiles,pkg.pushwake.asterisk
    [ ! -e .cache/asterisk-pjproject ] || needed="$needed .cache/asterisk-pjproject"
elif [ -z "$needed" ]; then
    fail "neither kamailio nor asterisk-dev is installed: there is no module to build"
fi

# A copy: dpkg-buildpackage leaves its results beside the tree, and what lies in it goes into the build.
out=$PWD/.build/deb
rm -rf "$out"
mkdir -p "$out/tree/.build"
tar -cf - --exclude=./.git --exclude=./.build --exclude=./.cache --exclude='*.so' --exclude=./asterisk-glue/build . |
    tar -xf - -C "$out/tree"
cp -R .build/stage "$out/tree/.build/stage"
for headers in $needed; do
    mkdir -p "$out/tree/.cache"
    cp -R "$headers" "$out/tree/.cache/"
done
# One source makes packages for several releases, and the later one is the newer.
. /etc/os-release
case ${VERSION_ID:-} in
    '') suffix=~${VERSION_CODENAME:-$ID} ;;
    *) suffix=~deb$VERSION_ID ;;
esac
python3 scripts/make/debian_changelog.py "$version" "$epoch" "$suffix" >"$out/tree/debian/changelog"
# Two builds of one commit are the same: dpkg takes a file's time unless it is later than the commit's.
export SOURCE_DATE_EPOCH="$epoch"
find "$out/tree" -exec touch -h -d "@$epoch" {} +
(cd "$out/tree" && dpkg-buildpackage --build=binary --no-sign --build-profiles=$profiles) >"$out/log" 2>&1 || {
    tail -n 30 "$out/log" >&2
    fail "dpkg-buildpackage failed (log: $out/log)"
}
rm -rf "$out/tree"
ls "$out"/*.deb
