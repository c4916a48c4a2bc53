#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a release of this commit: tests it, tags it, and leaves packages, repository and tarball in .build/release/VERSION. The
# first heading of CHANGELOG.md is its version.
#
# usage: scripts/make/release.sh       `make release`; nothing is pushed or published
set -eu
cd "$(dirname "$0")/../.."

fail() {
    echo "release: $1" >&2
    exit 1
}

[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || fail "this is not a git work tree"
dirty=$(git status --porcelain | head -n 5)
[ -z "$dirty" ] || fail "there are changes that are not committed:
$dirty"
heading=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
version=$(echo "$heading" | sed -n 's/^\([0-9][0-9.]*\) ([0-9]*-[0-9]*-[0-9]*)$/\1/p')
[ -n "$version" ] || fail "the first heading of CHANGELOG.md is \"$heading\": name the release, such as \"## 0.2.0 ($(date -u +%F))\""
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "v$version is tagged already: write a new heading into CHANGELOG.md"

# What is tested has the name already, so that it is what is packed.
export PUSHWAKE_VERSION="$version"
for target in test test-packages repository tarball; do
    ${MAKE:-make} $target || fail "make $target failed: nothing is tagged"
done
out=.build/release/$version
rm -rf "$out"
mkdir -p "$out"
cp -R .build/repository "$out/repository"
cp .build/tarball/*.tar.gz "$out/"
(cd "$out" && sha256sum ./*.tar.gz >SHA256SUMS)
git tag -a -m "PushWake $version" "v$version"
echo "release: v$version is tagged, and in $out: git push origin v$version"
