#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Packs .build/tarball/pushwake-VERSION-linux-ARCH.tar.gz, for hosts with another Linux, Kamailio or Asterisk than the packages are
# for: library and program for every C library from glibc 2.31 on, manuals, completions, the unit, both glues' sources, and
# scripts that build a module (scripts/make/build-module.sh) and install all (scripts/make/install.sh).
#
# usage: scripts/make/tarball.sh      after `make build-swift`; Debian 12, whose libraries are linked
set -eu
cd "$(dirname "$0")/../.."

# A copied tree has what is shipped, but no objects that can be linked once more.
if ! grep -qF "$PWD/" .build/dist/release.yaml 2>/dev/null; then
    rm -f .build/stage/release
    scripts/make/build-swift.sh
fi
read -r version epoch hash <.build/stage/release
name=pushwake-$version-linux-$(dpkg --print-architecture)
out=.build/tarball
tree=$out/$name
made=.build/portable

sysroot=$(scripts/make/sysroot.sh)
scripts/make/portable_link.py "$sysroot" $made

rm -rf $out
mkdir -p "$tree/stage/bin" "$tree/stage/lib" "$tree/licences" "$tree/debian"
cp $made/pushwake "$tree/stage/bin/"
cp $made/libpushwake.so.1 "$tree/stage/lib/"
ln -s libpushwake.so.1 "$tree/stage/lib/libpushwake.so"
cp -R .build/stage/man .build/stage/completions "$tree/stage/"
echo "$version $epoch $hash" >"$tree/stage/release"
scripts/make/sbom.py "$version" "$epoch" $made/libpushwake.so.1 $made/pushwake $made/*.archives >"$tree/stage/pushwake.spdx.json"
cp -R $made/openssl "$tree/openssl"
tar -cf $made/sources.tar --exclude='*.o' --exclude='*.so' --exclude=asterisk-glue/build README.md LICENSE CHANGELOG.md SECURITY.md docs include \
    examples kamailio-glue asterisk-glue debian/pushwake.service scripts/make/install.sh scripts/make/build-module.sh \
    scripts/make/kamailio-headers.sh
tar -xf $made/sources.tar -C "$tree"
cp debian/copyright "$tree/licences/"
cp /usr/share/common-licenses/Apache-2.0 /usr/share/common-licenses/GPL-3 "$tree/licences/"

# Two builds of one commit are the same, whoever makes them, where, and when.
tar -cf $made/all.tar -C $out --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu "$name"
gzip -n -9 <$made/all.tar >"$out/$name.tar.gz"
rm -rf "$tree"
ls "$out/$name.tar.gz"
