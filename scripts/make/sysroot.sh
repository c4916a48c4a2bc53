#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What programs are linked with that run on every C library from glibc 2.31 on: Debian 11's, the C++ library as an
# archive, and this host's other libraries, by whose names they are loaded. Prints the directory.
#
# usage: scripts/make/sysroot.sh [DIR]     default: .cache/sysroot-2.31
#
# Needs no root: apt downloads with lists of its own. DEBIAN_MIRROR chooses another mirror.
set -eu

root=${1:-$(cd "$(dirname "$0")/../.." && pwd)/.cache/sysroot-2.31}
recipe=1
if [ "$(cat "$root/recipe" 2>/dev/null)" = $recipe ]; then
    echo "$root"
    exit
fi
multiarch=$(gcc -print-multiarch)
arch=$(dpkg --print-architecture)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bullseye main" >"$tmp/sources.list"
touch "$tmp/status"
(
    cd "$tmp"
    options="-q -o Dir::Etc::SourceList=$tmp/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$tmp/lists
        -o Dir::State::Status=$tmp/status -o Dir::Cache=$tmp/cache -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false"
    # shellcheck disable=SC2086
    apt-get $options update && apt-get $options download libc6 libc6-dev
) >"$tmp/log" 2>&1 || {
    tail -n 5 "$tmp/log" >&2
    echo "sysroot: no C library of Debian 11 on $mirror; name another mirror: DEBIAN_MIRROR=URL" >&2
    exit 1
}
new=$tmp/sysroot-2.31
for package in "$tmp"/*.deb; do dpkg-deb -x "$package" "$new"; done

libraries=$new/usr/lib/$multiarch
# Links that lead out of the directory, and scripts that name such places.
rm -f "$libraries"/*.so
for name in c m dl pthread rt util resolv; do
    ln -s "../../../$(cd "$new" && ls -d lib/"$multiarch"/lib$name.so.[0-9]*)" "$libraries/lib$name.so"
done
cp -L "$(gcc -print-file-name=libgcc_s.so.1)" "$libraries/libgcc_s.so.1"
for name in ssl crypto nghttp2 sqlite3; do cp -L "/usr/lib/$multiarch/lib$name.so" "$libraries/"; done
# Jansson's symbols have a version from 2.14 on, which an earlier one is without: asked for are names alone.
nm -D --defined-only "/usr/lib/$multiarch/libjansson.so" | sed -n 's/^.* T \([a-z0-9_]*\).*/void \1(void); void \1(void) {}/p' >"$tmp/jansson.c"
gcc -shared -fPIC -nostdlib -fno-builtin -Wl,-soname,libjansson.so.4 -o "$libraries/libjansson.so" "$tmp/jansson.c"
# Where the compiler looks first: the C++ library is there as an archive alone.
compiler=$(dirname "$(gcc -print-file-name=libgcc.a)")
own=$new/usr/lib/gcc/$multiarch/${compiler##*/}
mkdir -p "$own"
cp "$compiler"/crtbegin*.o "$compiler"/crtend*.o "$compiler/libgcc.a" "$compiler/libstdc++.a" "$own/"
cp "/usr/lib/$multiarch/libhiredis.a" "$libraries/"
# For scripts/make/sbom.py: of which source package each archive is.
for archive in "/usr/lib/$multiarch/libhiredis.a" "$compiler/libstdc++.a" "$compiler/libgcc.a"; do
    package=$(dpkg -S "$(realpath "$archive")" | cut -d : -f 1)
    echo "${archive##*/} $(dpkg-query -W -f '${source:Package} ${source:Version}' "$package:$arch" | sed 's/^\(gcc\)-[0-9]* /\1 /')"
done >"$new/versions"
echo "libc_nonshared.a glibc $(dpkg-deb -f "$tmp"/libc6-dev_*.deb Version)" >>"$new/versions"
echo $recipe >"$new/recipe"
mkdir -p "$(dirname "$root")"
rm -rf "$root"
mv "$new" "$root"
echo "$root"
