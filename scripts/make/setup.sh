#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts on this Debian what a target of the Makefile needs; does nothing when all is there. Starts no service.
#
# usage: scripts/make/setup.sh [OPTION...]
#   none          what `make build` needs: compilers, libraries, Kamailio and its headers
#   --asterisk    what `make build-asterisk` needs, in place of that: Asterisk's headers, no Kamailio
#   --prebuilt    without what only Swift needs: its output is in .build/stage already
#   --demo        also what the demos need
#   --test        also what `make test` needs
#   --bench       also the peers of `make bench`
#   --phones      also the phones of `make test-phones`
#   --packages    also what `make deb` needs
#   --test-packages  also what `make test-packages` needs
set -eu
cd "$(dirname "$0")/../.."

compiler='gcc libc6-dev make ca-certificates python3'
swift='g++ pkg-config git libssl-dev libnghttp2-dev libjansson-dev libsqlite3-dev libhiredis-dev'
toolchain='binutils libxml2 libncurses6 libedit2 zlib1g-dev' # what Swift's own programs load
kamailio='kamailio dpkg-dev bison flex libssl-dev pkg-config'
asterisk='asterisk-dev dpkg-dev g++ libssl-dev xz-utils'
# redis-tools has the server too, and starts none.
demo='sip-tester python3-cryptography redis-tools debootstrap procps libnghttp2-14 libjansson4 libsqlite3-0'
test='prometheus chromium kotlin sngrep python3-matplotlib curl redis-tools sip-tester kamailio-tls-modules kamailio-lua-modules kamailio-websocket-modules kamailio-sqlite-modules debootstrap python3-pytest python3-pytest-xdist python3-pytest-timeout python3-cryptography python3-h2 python3-hypercorn python3-wsproto nghttp2-server python3-yaml python3-jsonschema python3-venv gcc-aarch64-linux-gnu libc6-dev-arm64-cross'
bench='nghttp2-client libcurl4-openssl-dev libevent-dev valgrind'
phones='iproute2 linphone-cli baresip-core kamailio-tls-modules'
packages='build-essential debhelper dpkg-dev pkg-config libssl-dev libnghttp2-dev libjansson-dev libsqlite3-dev libhiredis-dev apt-utils gpg gpg-agent'

has_swift=yes host=kamailio extra='' bench_too='' phones_too='' test_too=''
for option in "$@"; do
    case $option in
        --asterisk) host=asterisk ;;
        --prebuilt) has_swift='' ;;
        --demo) extra="$extra $demo" ;;
        --test) extra="$extra $test" test_too=yes ;;
        --bench) extra="$extra $test $bench" bench_too=yes ;;
        --phones) extra="$extra $test $phones" phones_too=yes ;;
        --packages) extra="$extra $packages" ;;
        --test-packages) extra="$extra $test $packages lintian mandoc systemd-container buildah" ;;
        *) echo "setup: there is no option $option; see the head of $0" >&2; exit 2 ;;
    esac
done

wanted="$compiler $extra"
[ -z "$has_swift" ] || wanted="$wanted $swift $toolchain"
case $host in
    kamailio) wanted="$wanted $kamailio" ;;
    asterisk) wanted="$wanted $asterisk" ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done

# Kamailio's package starts it, on port 5060: whoever builds a module did not ask for that. An own policy-rc.d says no
# while apt runs; the one of the host comes back, whatever happens.
policy=/usr/sbin/policy-rc.d
restore_policy() {
    [ -n "$log" ] || return 0
    if [ -e $policy.before-pushwake ]; then
        $as_root mv -f $policy.before-pushwake $policy
    else
        $as_root rm -f $policy
    fi
    rm -f "$log.policy"
}

as_root='' log=''
if [ -n "$missing" ]; then
    echo "setup: installing$missing"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: run as root, or install sudo" >&2; exit 1; }
        as_root=sudo
    fi
    log=$(mktemp)
    trap restore_policy EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\n# PushWake: scripts/make/setup.sh starts no service\nexit 101\n' >"$log.policy"
    # What a run that was killed has left is ours, not the host's.
    if [ -e $policy ] && ! grep -q '^# PushWake:' $policy; then $as_root mv -f $policy $policy.before-pushwake; fi
    $as_root install -m 755 "$log.policy" $policy
    apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1; }
    # shellcheck disable=SC2086
    if ! { apt update && apt install -y --no-install-recommends $missing; }; then
        tail -n 30 "$log" >&2
        echo "setup: apt-get could not install$missing (log: $log)" >&2
        exit 1
    fi
    restore_policy
    trap - EXIT HUP INT TERM
    rm -f "$log"
fi

if [ -n "$has_swift" ] && ! command -v swift >/dev/null; then
    echo "setup: no swift on PATH; PushWake needs Swift 6.3 or newer, see https://www.swift.org/install/linux/" >&2
    exit 1
fi

if [ $host = asterisk ]; then
    # Where asterisk-glue/Makefile looks for them.
    if [ ! -e /usr/include/asterisk-pjproject/pjsip.h ] && [ ! -e .cache/asterisk-pjproject/pjsip.h ]; then
        asterisk-glue/pjsip-headers.sh .cache/asterisk-pjproject >/dev/null ||
            { echo "setup: no headers of Asterisk's PJSIP; see docs/asterisk.md" >&2; exit 1; }
    fi
    exit 0
fi

# Headers of an earlier setup come without the module that make bench compares with.
if [ -n "$bench_too" ]; then
    for flags in .cache/kamailio-*/cflags; do
        [ -d "${flags%/cflags}/modules/http_async_client" ] || rm -f "$flags"
    done
fi
scripts/make/kamailio-headers.sh

# Packages of PyPI, into a directory of their own unless it has this module already.
from_pypi() {
    venv=.cache/$1-venv module=$2
    shift 2
    if "$venv/bin/python" -c "import $module" 2>/dev/null; then return; fi
    rm -rf "$venv"
    if { /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install -q "$@"; }; then return; fi
    rm -rf "$venv"
    echo "setup: $* could not be installed from PyPI" >&2
    return 1
}

# make bench goes on without these clients, and the page's tests without axe-core.
[ -z "$bench_too" ] || from_pypi bench aioapns aioapns 'httpx[http2]' || true
[ -z "$test_too" ] || from_pypi axe axe_core_python axe-core-python==0.1.0 || true
# PJSIP is not in Debian 12; PyPI has it with its Python binding.
[ -z "$phones_too" ] || from_pypi phones pjsua2 pjsua2-python==2.15.1.post1
