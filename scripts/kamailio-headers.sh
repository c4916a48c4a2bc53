#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Gets what a module needs to be built out of tree: the headers of the installed
# Kamailio and the flags it was compiled with. Debian has no kamailio-dev package,
# so the source package of the same version is fetched. The lists of apt stay as
# they are: a list of our own, with deb-src, lives in a temporary directory.
#
# usage: kamailio-headers.sh [DIR]     default: .cache/kamailio-VERSION
#
# DIR then holds core/, lib/, modules/{tm,sl,usrloc,registrar}/, and cflags, which
# kamailio-glue/Makefile reads.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
package=$(dpkg-query -W -f='${source:Package}=${source:Version}' kamailio 2>/dev/null) || {
	echo "kamailio-headers: kamailio is not installed; try: apt-get install kamailio" >&2
	exit 1
}
version=$(echo "${package#*=}" | sed -e 's/^[0-9]*://' -e 's/[-+~].*//')
dir=${1:-$root/.cache/kamailio-$version}
[ -f "$dir/cflags" ] && exit 0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
chmod -R a+rX "$tmp"
. /etc/os-release
cat > "$tmp/sources.list" <<LIST
deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm} main
deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm}-updates main
deb-src http://security.debian.org/debian-security ${VERSION_CODENAME:-bookworm}-security main
LIST
apt="apt-get -q -o Dir::Etc::SourceList=$tmp/sources.list -o Dir::Etc::SourceParts=/dev/null
 -o Dir::State::Lists=$tmp/lists -o Dir::Cache=$tmp/cache -o APT::Sandbox::User=root"
(
	cd "$tmp"
	$apt update
	$apt source --download-only "$package"
	dpkg-source --no-check -x ./*.dsc source
) > "$tmp/log" 2>&1 || {
	echo "kamailio-headers: cannot get the source of $package:" >&2
	tail -n 5 "$tmp/log" >&2
	exit 1
}

rm -rf "$dir.new"
mkdir -p "$dir.new/modules"
src=$tmp/source/src
(
	cd "$src"
	find core lib modules/tm modules/sl modules/usrloc modules/registrar -name '*.h' > "$tmp/headers"
	tar -cf - -T "$tmp/headers" | tar -xf - -C "$dir.new"
)
# The compile flags of this architecture: what Kamailio's own makefiles would use.
printf 'COREPATH=.\ninclude Makefile.defs\npushwake-flags:\n\t@echo $(C_DEFS)\n' > "$src/pushwake.mk"
(cd "$src" && make cfg > /dev/null 2>&1 || true)
(cd "$src" && make -s -f pushwake.mk main_makefile=1 pushwake-flags) 2> /dev/null |
	tr ' ' '\n' | grep -E '^-D' | grep -vE '^-D(NAME|VERSION|ARCH|OS|OS_QUOTED|COMPILER|CFG_DIR|SHARE_DIR|RUN_DIR|MOD_NAME)=' \
	> "$dir.new/cflags"
# What the distribution switched off or on shows in the flags that the binary prints.
if ! kamailio -v 2> /dev/null | grep -q MEM_JOIN_FREE; then
	sed -i '/^-DMEM_JOIN_FREE$/d' "$dir.new/cflags"
fi
grep -q '^-DSHM_MMAP$' "$dir.new/cflags" || {
	echo "kamailio-headers: no compile flags in Makefile.defs of $package" >&2
	exit 1
}
rm -rf "$dir"
mv "$dir.new" "$dir"
