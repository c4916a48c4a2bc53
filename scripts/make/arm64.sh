#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles all that is C for ARM64 with Debian's cross compiler, with warnings as errors: the frozen layout of the structs,
# both glues, what Swift imports, the hosts in Tests/abi, and the benchmarks. The modules are linked with a library of
# the same symbols. Swift itself is built where its toolchain is: `make build` on such a host.
#
# usage: scripts/make/arm64.sh      needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, and the headers
# in .cache of `make build` and `make test-asterisk`
set -eu
cd "$(dirname "$0")/../.."

CC=aarch64-linux-gnu-gcc
out=.build/arm64
command -v $CC >/dev/null || { echo "arm64: $CC is missing; run scripts/make/setup.sh --test" >&2; exit 1; }
rm -rf $out
mkdir -p $out/headers

# Libraries' headers are the same for both; the C library's are the cross compiler's.
for header in openssl nghttp2 jansson.h jansson_config.h sqlite3.h hiredis curl event2; do
    for place in /usr/include /usr/include/"$(gcc -print-multiarch)"; do
        [ ! -e "$place/$header" ] || [ -e $out/headers/$header ] || cp -R "$place/$header" $out/headers/
    done
done
multiarch=/usr/include/$(gcc -print-multiarch)/openssl
[ ! -d "$multiarch" ] || cp "$multiarch"/* $out/headers/openssl/

compile() {
    $CC -Wall -Wextra -Werror -Wno-unused-function -Iinclude -ISources/CRelease/include -isystem $out/headers -c -o $out/check.o "$@" || {
        echo "arm64: $* does not compile" >&2
        exit 1
    }
}
compile -std=gnu11 Sources/CPushWake/layout.c
compile -std=gnu11 -DPUSHWAKE_VERSION='"0"' Sources/CRelease/release.c
for shim in Sources/C*/shim.h; do compile -std=gnu11 -include "$shim" -x c /dev/null; done
compile -std=c99 -pedantic Tests/abi/contract.c
for host in load threads users; do compile -std=gnu11 Tests/abi/$host.c; done
for tool in Benchmarks/*.c; do
    case $tool in
        *curl*) [ -e $out/headers/curl ] || continue ;;
    esac
    compile -std=gnu11 "$tool"
done

# The library's symbols, for the linker.
sed -n 's/^ *\(pushwake_[a-z0-9_]*\);.*/void \1(void); void \1(void) {}/p' include/pushwake.map >$out/library.c
$CC -shared -fPIC -Wl,-soname,libpushwake.so.1,--version-script=include/pushwake.map -o $out/libpushwake.so.1 $out/library.c

made=''
for flags in .cache/kamailio-*/cflags .cache/kamailio-*-root/pushwake/headers/cflags; do
    headers=${flags%/cflags}
    [ -d "$headers/core" ] || continue
    name=$(sed -n 's/^-DVERSIONVAL=//p' "$flags")
    # What Kamailio's makefiles choose otherwise for it.
    cp -R "$headers" "$out/kamailio-$name"
    sed -i 's/^-D__CPU_.*/-D__CPU_aarch64 -DNOSMP/; /^-DCC_GCC_LIKE_ASM$/d' "$out/kamailio-$name/cflags"
    make -s -j2 -C kamailio-glue CC=$CC KAMAILIO_SRC="$PWD/$out/kamailio-$name" PUSHWAKE_LIB=../$out OUT=../$out/kamailio-glue-$name \
        MODULE=../$out/pushwake-$name.so
    made="$made pushwake-$name.so"
done
if [ -e .cache/asterisk-sid/usr/include/asterisk.h ]; then
    make -s -j2 -C asterisk-glue CC=$CC ASTERISK_ROOT="$PWD/.cache/asterisk-sid" PUSHWAKE_LIB=../$out OUT=../$out/asterisk-glue
    mv $out/asterisk-glue/res_pushwake.so $out/
    made="$made res_pushwake.so"
fi
for module in $made; do
    readelf -h $out/$module | grep -q 'Machine: *AArch64' || { echo "arm64: $module is not for ARM64" >&2; exit 1; }
done
echo "arm64: ok,$made"
