#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts on this Debian what building and testing need; does nothing when all is there.
# usage: scripts/setup.sh [--bench | --phones]    --bench: also the peers of `make bench`; --phones: the phones of `make test-phones`
set -eu
cd "$(dirname "$0")/.."

build='gcc g++ libc6-dev make pkg-config ca-certificates git libssl-dev libnghttp2-dev libjansson-dev libsqlite3-dev'
toolchain='binutils libxml2 libncurses6 libedit2 zlib1g-dev' # what Swift's own programs load
host='kamailio dpkg-dev curl'
test='sip-tester kamailio-tls-modules kamailio-lua-modules debootstrap python3 python3-pytest python3-pytest-xdist python3-cryptography python3-h2'
bench='nghttp2-client libcurl4-openssl-dev libevent-dev valgrind python3-venv'
phones='linphone-cli baresip-core kamailio-tls-modules python3-venv'

wanted="$build $toolchain $host $test"
case ${1:-} in
    --bench) wanted="$wanted $bench" ;;
    --phones) wanted="$wanted $phones" ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done

if [ -n "$missing" ]; then
    echo "setup: installing$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: run as root, or install sudo" >&2; exit 1; }
        as_root=sudo
    fi
    log=$(mktemp)
    apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1; }
    # shellcheck disable=SC2086
    if ! { apt update && apt install -y --no-install-recommends $missing; }; then
        tail -n 30 "$log" >&2
        echo "setup: apt-get could not install$missing (log: $log)" >&2
        exit 1
    fi
    rm -f "$log"
fi

if ! command -v swift >/dev/null; then
    echo "setup: no swift on PATH; PushWake needs Swift 6.3 or newer, see https://www.swift.org/install/linux/" >&2
    exit 1
fi

# Headers of an earlier setup come without the module that make bench compares with.
if [ "${1:-}" = --bench ]; then
    for flags in .cache/kamailio-*/cflags; do
        [ -d "${flags%/cflags}/modules/http_async_client" ] || rm -f "$flags"
    done
fi
if [ -x scripts/kamailio-headers.sh ]; then
    scripts/kamailio-headers.sh
fi

# Two push clients from PyPI; make bench goes on without them.
venv=.cache/bench-venv
if [ "${1:-}" = --bench ] && [ ! -x $venv/bin/python ]; then
    if ! { /usr/bin/python3 -m venv $venv && $venv/bin/pip install -q aioapns 'httpx[http2]'; }; then
        echo "setup: no Python clients for the comparison" >&2
        rm -rf $venv
    fi
fi

# PJSIP is not in Debian 12; PyPI has it with its Python binding.
venv=.cache/phones-venv
if [ "${1:-}" = --phones ] && ! $venv/bin/python -c 'import pjsua2' 2>/dev/null; then
    rm -rf $venv
    if ! { /usr/bin/python3 -m venv $venv && $venv/bin/pip install -q 'pjsua2-python==2.15.1.post1'; }; then
        echo "setup: PJSIP's binding (pjsua2-python) could not be installed from PyPI" >&2
        exit 1
    fi
fi
