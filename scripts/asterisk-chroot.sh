#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes a Debian sid with Asterisk 22 under .cache/asterisk-sid, once, for the
# build and the tests of asterisk-glue. Debian 12 has no asterisk package.
#
# usage: scripts/asterisk-chroot.sh [DIR]      prints DIR when it is complete
#
# Needs root and debootstrap. DEBIAN_MIRROR chooses another mirror.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-$here/.cache/asterisk-sid}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
recipe=1
log=$root.log

fail() {
    echo "asterisk-chroot: $1" >&2
    [ ! -s "$log" ] || tail -n 15 "$log" >&2
    exit 1
}

in_root() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >>"$log" 2>&1
}

if [ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "$root"
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root; run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"

mkdir -p "$(dirname "$root")"
# Two test runs at once must not both build it.
exec 9>"$root.lock"
flock 9
if [ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "$root"
    exit 0
fi
: >"$log"

if [ ! -e "$root/etc/debian_version" ] || [ -d "$root/debootstrap" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase sid "$root" "$mirror" >>"$log" 2>&1 || fail "debootstrap failed"
fi
cat >"$root/etc/apt/apt.conf.d/90pushwake" <<'EOF'
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
EOF
echo "deb-src $mirror sid main" >"$root/etc/apt/sources.list.d/pushwake-source.list"
# No package may start a service in here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

in_root apt-get update || fail "apt-get update failed"
in_root apt-get install -y asterisk asterisk-dev gcc g++ make libc6-dev libssl-dev xz-utils \
    libnghttp2-14 libjansson4 libsqlite3-0 libhiredis1.1.0 || fail "installing asterisk failed"

# Debian's Asterisk carries its own PJSIP, and no package has those headers: they
# come from the same source package, configured as Asterisk's build configures them.
in_root sh -ec '
    work=$(mktemp -d /var/tmp/pjsip.XXXXXX)
    chown _apt "$work"
    cd "$work"
    apt-get source --download-only asterisk
    mkdir asterisk pjproject
    tar -C asterisk --strip-components=1 -xJf asterisk_*.orig.tar.xz
    tar -C pjproject --strip-components=1 -xJf asterisk_*.orig-Xpjproject.tar.xz
    cp asterisk/third-party/pjproject/patches/config_site.h \
        asterisk/third-party/pjproject/patches/asterisk_malloc_debug.h pjproject/pjlib/include/pj/
    cd pjproject
    ./aconfigure --prefix=/opt/pjproject --disable-speex-codec --disable-speex-aec --disable-bcg729 \
        --disable-gsm-codec --disable-ilbc-codec --disable-l16-codec --disable-g722-codec \
        --disable-g7221-codec --disable-opencore-amr --disable-silk --disable-opus --disable-video \
        --disable-v4l2 --disable-sound --disable-ext-sound --disable-sdl --disable-libyuv \
        --disable-ffmpeg --disable-openh264 --disable-ipp --disable-libwebrtc --disable-libsrtp \
        --disable-upnp --disable-resample --disable-g711-codec --without-external-pa \
        --without-external-srtp --enable-epoll CFLAGS=-DPJ_HAS_LINUX_EPOLL=1
    rm -rf /usr/include/asterisk-pjproject
    mkdir /usr/include/asterisk-pjproject
    for part in pjlib pjlib-util pjnath pjmedia pjsip; do
        cp -r $part/include/. /usr/include/asterisk-pjproject/
    done
    cd /
    rm -rf "$work"
' || fail "preparing the PJSIP headers failed"

in_root apt-get clean
echo "$recipe" >"$root/.pushwake-recipe"
echo "$root"
