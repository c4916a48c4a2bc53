#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds a module for the PBX of this host, against the PBX's own headers, around a library that is there already. Needs a
# C compiler and make; no Swift.
#
# usage: scripts/make/build-module.sh kamailio [SOURCE]    the installed Kamailio, 5.6 to 6.1. SOURCE: a source tree of that release
#                                                          or its tarball; without one, apt fetches Debian's source package
#        scripts/make/build-module.sh asterisk [SOURCE]    an Asterisk, 20 or 22, that was built in the tree SOURCE; without one,
#                                                          the installed one, with its development package and PJSIP's headers
#
# Then `scripts/make/install.sh common kamailio host` or `... common asterisk host`, as root.
set -eu
cd "$(dirname "$0")/../.."

fail() {
    echo "build-module: $1" >&2
    exit 1
}

stage=.build/stage
[ -d $stage ] || stage=stage
work=.build/module
[ -e $stage/lib/libpushwake.so.1 ] || fail "$stage/lib/libpushwake.so.1 is missing: unpack the whole tarball, or run make build-swift"
compiler=${CC:-cc}
for tool in "$compiler" make; do
    command -v "${tool%% *}" >/dev/null || fail "$tool is missing: install a C compiler and make, such as: apt install gcc libc6-dev make"
done

case ${1:-} in
    kamailio)
        scripts/make/kamailio-headers.sh '' "${2:-}"
        mkdir -p $stage/lib/kamailio
        make -s -C kamailio-glue CC="$compiler" PUSHWAKE_LIB="$PWD/$stage/lib" OUT="$PWD/$work/kamailio" PREFIX="${PREFIX:-/usr/local}" \
            MODULE="$PWD/$stage/lib/kamailio/pushwake.so"
        echo "$stage/lib/kamailio/pushwake.so"
        ;;
    asterisk)
        set -- "${2:-}"
        if [ -n "$1" ]; then
            [ -e "$1/include/asterisk.h" ] || fail "$1 is not a source tree of Asterisk: include/asterisk.h is missing"
            [ -e "$1/include/asterisk/buildopts.h" ] || fail "no Asterisk was built in $1: run its ./configure and make first"
            pjsip=$(printf "$1/third-party/pjproject/source/%s/include " pjlib pjlib-util pjnath pjmedia pjsip)
            series=$(sed 's/^[^0-9]*\([0-9]*\).*/\1/' "$1/.version")
            set -- ASTERISK="$1/include" PJPROJECT="$pjsip" ASTERISK_MAJOR="$series"
        else
            [ -e /usr/include/asterisk-pjproject/pjsip.h ] || [ -e .cache/asterisk-pjproject/pjsip.h ] ||
                asterisk-glue/pjsip-headers.sh .cache/asterisk-pjproject >/dev/null || fail "no headers of Asterisk's PJSIP; see docs/asterisk.md"
            set --
        fi
        mkdir -p $stage/lib/asterisk
        make -s -C asterisk-glue CC="$compiler" PUSHWAKE_LIB="$PWD/$stage/lib" OUT="$PWD/$work/asterisk" "$@"
        cp $work/asterisk/res_pushwake.so $stage/lib/asterisk/
        echo "$stage/lib/asterisk/res_pushwake.so"
        ;;
    *) fail "say for which: kamailio or asterisk; see the head of $0" ;;
esac
