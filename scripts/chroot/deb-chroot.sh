#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the packages for a release of Debian in a chroot, .cache/build-SUITE, around what `make build` has made here: no
# Swift is run there. Leaves them in .build/deb-SUITE.
#
# usage: scripts/chroot/deb-chroot.sh SUITE        bookworm, trixie, or sid: with the module for its Kamailio
#        scripts/chroot/deb-chroot.sh asterisk     in the sid with Asterisk of scripts/chroot/asterisk-chroot.sh: with that module
#
# Needs root, debootstrap and `make build`. DEBIAN_MIRROR chooses another mirror. KAMAILIO_SOURCE names a source tree of
# that release's Kamailio, for a mirror that has no longer its source package.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
suite=${1:?usage: deb-chroot.sh bookworm|trixie|sid|asterisk}
build='scripts/make/setup.sh --prebuilt --packages'
root=$here/.cache/build-$suite
if [ "$suite" = asterisk ]; then
    build='make build-asterisk PREBUILT=1 && scripts/make/setup.sh --prebuilt --asterisk --packages'
    root=$("$here/scripts/chroot/asterisk-chroot.sh")
fi
name=deb-chroot
recipe=1
. "$here/scripts/chroot/chroot.sh"

[ -e "$here/.build/stage/man/pushwake.1" ] || { log=; fail "run make build first"; }
lock_root
: >"$log"
if [ "$suite" != asterisk ] && ! is_made $recipe; then
    make_debian "$suite"
    in_root apt-get update || fail "apt-get update failed"
    in_root apt-get install -y make ca-certificates || fail "installing make failed"
    echo "$recipe" >"$root/.pushwake-recipe"
fi

# Sources as they are now; headers that were fetched there stay.
tree=$root/pushwake
mkdir -p "$tree"
find "$tree" -mindepth 1 -maxdepth 1 ! -name .cache -exec rm -rf {} +
tar -C "$here" -cf - --exclude=./.git --exclude=./.build --exclude=./.cache --exclude='*.so' --exclude=./asterisk-glue/build . |
    tar -xf - -C "$tree"
mkdir -p "$tree/.build"
cp -R "$here/.build/stage" "$tree/.build/stage"
source=.cache/source-of-kamailio
if [ -n "${KAMAILIO_SOURCE:-}" ] && [ ! -d "$tree/$source" ]; then
    mkdir -p "$tree/.cache"
    cp -R "$KAMAILIO_SOURCE" "$tree/$source"
fi
[ ! -d "$tree/$source" ] || build="export KAMAILIO_SOURCE=/pushwake/$source && $build"
in_root sh -c "cd /pushwake && $build && scripts/make/deb.sh" || fail "building the packages failed"
rm -rf "$here/.build/deb-$suite"
cp -R "$tree/.build/deb" "$here/.build/deb-$suite"
