#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Swift's caches hold absolute paths: in a tree that was moved or copied they end in "missing required module". Removes
# those of another place.
#
# usage: scripts/make/unmoved.sh dist|debug     of the release build, or of that for tests
set -eu
cd "$(dirname "$0")/../.."

case $1 in
    dist) plan=.build/dist/release.yaml made='-name dist' ;;
    debug) plan=.build/debug.yaml made='! -name dist ! -name stage ! -name deb* ! -name repository' ;;
esac
if [ -f "$plan" ] && ! grep -qF "$PWD/" "$plan"; then
    echo "this tree was moved or copied: building anew"
    set -f
    # shellcheck disable=SC2086
    find .build -mindepth 1 -maxdepth 1 $made -exec rm -rf {} +
fi
