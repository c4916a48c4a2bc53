#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Gets what a module needs to be built out of tree: the headers of the installed
# Kamailio and the flags it was compiled with. Debian has no kamailio-dev package,
# so the source package of the same version is fetched. The lists of apt stay as
# they are: a list of our own, with deb-src, lives in a temporary directory.
#
# usage: kamailio-headers.sh [DIR [SOURCE]]     default: .cache/kamailio-VERSION
#
# SOURCE is a source tree of the installed release, or its tarball, for a Kamailio
# that is not Debian's, such as the packages of kamailio.org. The variable
# KAMAILIO_SOURCE says the same, for `make build`.
#
# DIR then holds core/, lib/, modules/{tm,sl,usrloc,registrar}/, and cflags, which
# kamailio-glue/Makefile reads; and the source of http_async_client, which Debian 12
# does not package and make bench compares with.
set -eu
# Where Debian puts kamailio, and what an ordinary user's PATH leaves out.
PATH=$PATH:/usr/sbin:/usr/local/sbin

root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(kamailio -v 2>/dev/null | sed -n 's/^version: kamailio \([^ ]*\).*/\1/p')
[ -n "$version" ] || {
	echo "kamailio-headers: kamailio is not installed; try: apt-get install kamailio" >&2
	exit 1
}
dir=${1:-$root/.cache/kamailio-$version}
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
[ -f "$dir/cflags" ] && exit 0

# Releases are numbered as 6.0.4, packages of kamailio.org as 6.0.4+bpo13.
release=${version%%[!0-9.]*}
tarball=https://www.kamailio.org/pub/kamailio/$release/src/kamailio-${release}_src.tar.gz
remedy="get the source of Kamailio $release, such as $tarball, and name it: KAMAILIO_SOURCE=PATH make build"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fetch_source() {
	package=$(dpkg-query -W -f='${source:Package}=${source:Version}' kamailio 2>/dev/null) || {
		echo "kamailio-headers: kamailio is not a package here; $remedy" >&2
		exit 1
	}
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
		tail -n 5 "$tmp/log" >&2
		echo "kamailio-headers: Debian has no source of $package; $remedy" >&2
		exit 1
	}
}

given=${2:-${KAMAILIO_SOURCE:-}}
if [ -n "$given" ]; then
	mkdir "$tmp/source"
	if [ -f "$given" ]; then
		tar -xf "$given" -C "$tmp/source" --strip-components=1
	else
		[ ! -d "$given" ] || cp -R "$given/." "$tmp/source"
	fi
	[ -f "$tmp/source/src/Makefile.defs" ] || {
		echo "kamailio-headers: $given is not a source of Kamailio: src/Makefile.defs is missing; $remedy" >&2
		exit 1
	}
	# Within a series structs seldom change, and the module looks at its start whether they have.
	series=$(sed -n 's/^VERSION *= *//p; s/^PATCHLEVEL *= *//p' "$tmp/source/src/Makefile.defs" | paste -sd.)
	case $release in
		"$series".*) ;;
		*) echo "kamailio-headers: $given is Kamailio $series, and $release is installed; $remedy" >&2; exit 1 ;;
	esac
else
	fetch_source
fi

rm -rf "$dir.new"
mkdir -p "$dir.new/modules"
src=$tmp/source/src
(
	cd "$src"
	find core lib modules/tm modules/sl modules/usrloc modules/registrar -name '*.h' > "$tmp/headers"
	find modules/pv modules/http_async_client -name '*.h' -o -path '*http_async*.c' >> "$tmp/headers" 2> /dev/null || true
	tar -cf - -T "$tmp/headers" | tar -xf - -C "$dir.new"
)
# The compile flags of this architecture: what Kamailio's own makefiles would use.
printf 'COREPATH=.\ninclude Makefile.defs\npushwake-flags:\n\t@echo $(C_DEFS)\n' > "$src/pushwake.mk"
(cd "$src" && make cfg > /dev/null 2>&1 || true)
(cd "$src" && make -s -f pushwake.mk main_makefile=1 pushwake-flags) 2> /dev/null |
	tr ' ' '\n' | grep -E '^-D' | grep -vE '^-D(NAME|VERSION|ARCH|OS|OS_QUOTED|COMPILER|CFG_DIR|SHARE_DIR|RUN_DIR|MOD_NAME)=' \
	> "$dir.new/cflags"
# The binary says what it was compiled with. Distributions switch some on or off, and later releases are built
# with cmake, which does not choose as the makefiles do.
said=$(kamailio -v | sed -n 's/^flags: //p' | tr ',-' '  ')
for flag in $(sed -n 's/^#ifdef \([A-Z0-9_]*\)$/\1/p' "$src/core/ver_defs.h"); do
	sed -i "/^-D$flag\$/d" "$dir.new/cflags"
	case " $said " in *" $flag "*) echo "-D$flag" >> "$dir.new/cflags" ;; esac
done
grep -q '^-DSHM_MMAP$' "$dir.new/cflags" || {
	echo "kamailio-headers: no compile flags in Makefile.defs of Kamailio $version" >&2
	exit 1
}
rm -rf "$dir"
mv "$dir.new" "$dir"
