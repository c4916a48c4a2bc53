#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Library, program, manuals and completions into .build/stage. Does nothing where they are what these sources make:
# `release` in there has their hash, so that a tree that was copied, moved or handed to a host without Swift builds
# nothing anew.
#
# usage: scripts/make/build-swift.sh       SWIFT and PYTHON name other programs than swift and /usr/bin/python3
#
# PREBUILT=1: fails where that would not do.
set -eu
cd "$(dirname "$0")/../.."

dist=.build/dist
stage=.build/stage
python=${PYTHON:-/usr/bin/python3}

if [ -n "${PREBUILT:-}" ]; then
    for file in bin/pushwake lib/libpushwake.so.1 man/pushwake.1 completions/bash pushwake.spdx.json release; do
        [ -e "$stage/$file" ] || { echo "PREBUILT: $stage/$file is missing; run make build where Swift is, and copy $stage"; exit 1; }
    done
    exit 0
fi

version=$(scripts/make/version.sh)
epoch=$(scripts/make/version.sh --epoch)
hash=$( (
    echo "$version $epoch ${PUSHWAKE_SYMBOLS:-} $(${SWIFT:-swift} --version 2>/dev/null) $(uname -m)"
    find Sources include scripts/docs/manpages.py scripts/make/build-swift.sh scripts/make/sbom.py scripts/make/reproducible.ld \
        scripts/make/lean_runtime.py \
        Package.swift -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum
) | sha256sum | cut -c 1-64)
[ "$(cat $stage/release 2>/dev/null)" != "$version $epoch $hash" ] || exit 0

scripts/make/unmoved.sh dist
# -static-stdlib has to reach the compiler too: it chooses which Foundation the executable links.
runtime=$(${SWIFT:-swift} -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
$python scripts/make/lean_runtime.py "${runtime}_static/linux/libswiftCore.a" $dist/swift_static/libswiftCore.a
# Exclusive access is checked in debug builds and by the tests; the check per access costs the hot path 3 %.
# All that calls a function is linked with it: the linker may leave out what nobody calls, and order the rest, function by
# function.
build() {
    PUSHWAKE_DIST=1 PUSHWAKE_VERSION=$version ${SWIFT:-swift} build -c release --disable-local-rpath \
        -Xswiftc -static-stdlib -Xswiftc -enforce-exclusivity=unchecked \
        -Xswiftc -Xfrontend -Xswiftc -internalize-at-link -Xswiftc -Xfrontend -Xswiftc -function-sections \
        --scratch-path $dist --product "$1"
}
build PushWakeABI
build pushwake

rm -rf $stage/release $stage/man
mkdir -p $stage/bin $stage/lib/kamailio $stage/include $stage/completions
install -m 755 $dist/release/pushwake $stage/bin/pushwake
install -m 644 $dist/release/libPushWakeABI.so $stage/lib/libpushwake.so.1
ln -sf libpushwake.so.1 $stage/lib/libpushwake.so
install -m 644 include/pushwake.h $stage/include/pushwake.h
SOURCE_DATE_EPOCH=$epoch $python scripts/docs/manpages.py $stage/bin/pushwake $stage/man
for shell in bash zsh fish; do
    $stage/bin/pushwake --generate-completion-script $shell >$stage/completions/$shell
done
sed -i '1{/^#!/d}' $stage/completions/bash
$python scripts/make/sbom.py "$version" "$epoch" $stage/lib/libpushwake.so.1 $stage/bin/pushwake \
    $dist/libpushwake.archives $dist/pushwake.archives >$stage/pushwake.spdx.json
echo "$version $epoch $hash" >$stage/release
