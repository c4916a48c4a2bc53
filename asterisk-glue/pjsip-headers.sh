#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's Asterisk carries its own PJSIP, and no package has those headers. They come
# from the same source package, configured as Asterisk's own build configures them.
#
# usage: pjsip-headers.sh DIR      needs deb-src in the apt sources, g++ and make
set -eu

mkdir -p "${1:?usage: pjsip-headers.sh DIR}"
dir=$(cd "$1" && pwd)
work=$(mktemp -d /var/tmp/pjsip.XXXXXX)
trap 'rm -rf "$work"' EXIT
# apt downloads as a user of its own.
[ "$(id -u)" != 0 ] || chown _apt "$work"
cd "$work"

version=$(dpkg-query -W -f '${source:Version}' asterisk-dev)
apt-get source --download-only "asterisk=$version"
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
    --without-external-srtp --enable-epoll CFLAGS=-DPJ_HAS_LINUX_EPOLL=1 >/dev/null

for part in pjlib pjlib-util pjnath pjmedia pjsip; do
    cp -r "$part/include/." "$dir/"
done
echo "$dir"
