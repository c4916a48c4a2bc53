#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Copies a build to $DESTDIR$PREFIX, or removes it from there.
#
# usage: scripts/make/install.sh PART...
#   common     library, program, manuals and completions
#   kamailio   Kamailio's module, to its module directory
#   asterisk   Asterisk's module and AGI script
#   host       documents, examples, the unit and the directories that an engine writes to
#   uninstall  in place of the others: removes all of them; settings, keys and bindings stay
#
# What others would like elsewhere are variables: PREFIX (/usr/local), DESTDIR, LIBDIR, KAMAILIO_MODULES, ASTERISK_MODULES,
# and RUN_AS (who runs the engine: kamailio).
set -eu
cd "$(dirname "$0")/../.."

prefix=${PREFIX:-/usr/local}
lib=${LIBDIR:-$prefix/lib}
root=${DESTDIR:-}
stage=.build/stage
[ -d $stage ] || stage=stage
run_as=${RUN_AS:-kamailio}
share=$root$prefix/share
doc=$share/doc/pushwake
unit=$root$prefix/lib/systemd/system/pushwake.service

# Where a PBX looks for its modules: Debian's places, then those of other systems.
modules() {
    for place in "/usr/lib/$(uname -m)-linux-gnu/$1/modules" "/usr/lib64/$1/modules" "/usr/lib/$1/modules" "/usr/local/lib64/$1/modules"; do
        [ ! -d "$place" ] || { echo "$place"; return; }
    done
    echo "/usr/lib/$(uname -m)-linux-gnu/$1/modules"
}
kamailio=$root${KAMAILIO_MODULES:-$(modules kamailio)}
asterisk=$root${ASTERISK_MODULES:-$(modules asterisk)}

copy() { install -D -m "$1" "$2" "$3"; }
copy_all() {
    into=$1
    shift
    install -d "$into"
    install -m 644 "$@" "$into/"
}

common() {
    copy 755 "$stage/bin/pushwake" "$root$prefix/bin/pushwake"
    copy 644 "$stage/lib/libpushwake.so.1" "$root$lib/libpushwake.so.1"
    ln -sf libpushwake.so.1 "$root$lib/libpushwake.so"
    copy 644 include/pushwake.h "$root$prefix/include/pushwake.h"
    install -d "$root$lib/pkgconfig"
    printf 'Name: pushwake\nDescription: Wakes sleeping phones for SIP servers\nVersion: %s\nLibs: -L%s -lpushwake\nCflags: -I%s\n' \
        "$(cut -d ' ' -f 1 "$stage/release")" "$lib" "$prefix/include" >"$root$lib/pkgconfig/pushwake.pc"
    copy_all "$share/man/man1" "$stage"/man/*.1
    copy_all "$share/man/man5" "$stage"/man/*.5
    copy 644 "$stage/completions/bash" "$share/bash-completion/completions/pushwake"
    copy 644 "$stage/completions/zsh" "$share/zsh/vendor-completions/_pushwake"
    copy 644 "$stage/completions/fish" "$share/fish/vendor_completions.d/pushwake.fish"
    copy 644 "$stage/pushwake.spdx.json" "$doc/pushwake.spdx.json"
    # For hosts without OpenSSL 3, where the tarball has it.
    if [ -d openssl ] && ! PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q 'libssl\.so\.3'; then
        copy_all "$root$lib/pushwake-openssl" openssl/lib*
    fi
    [ -n "$root" ] || PATH=$PATH:/sbin:/usr/sbin ldconfig
}

install_kamailio() {
    copy 755 examples/kamailio-stock.sh "$share/pushwake/kamailio-stock.sh"
    copy 644 "$stage/lib/kamailio/pushwake.so" "$kamailio/pushwake.so"
}

install_asterisk() {
    copy 755 asterisk-glue/pushwake.agi "$share/pushwake/pushwake.agi"
    copy 644 "$stage/lib/asterisk/res_pushwake.so" "$asterisk/res_pushwake.so"
}

# Mode and place of what the engine writes to; the store stays when PushWake is uninstalled. Others may pass to a socket
# that lets them (engine_socket_group).
state='0751:/run/pushwake 0750:/var/lib/pushwake'

host() {
    copy_all "$doc" README.md LICENSE CHANGELOG.md SECURITY.md docs/[!R]*.md docs/openapi.yaml
    copy_all "$doc/apps" docs/apps/*.md
    copy_all "$doc/architecture" docs/architecture/*.md
    copy_all "$doc/formats" docs/formats/*.md
    copy_all "$doc/pictures" docs/pictures/*.png
    copy_all "$doc/examples" examples/*.cfg examples/*.conf examples/*.yml examples/*.json asterisk-glue/*.sample
    install -d "$(dirname "$unit")" "$root$prefix/lib/tmpfiles.d"
    sed "s|/usr/bin/pushwake|$prefix/bin/pushwake|; s/^\(User\|Group\)=.*/\1=$run_as/" debian/pushwake.service >"$unit"
    for place in $state; do
        echo "d ${place#*:} ${place%%:*} $run_as $run_as -"
    done >"$root$prefix/lib/tmpfiles.d/pushwake.conf"
    [ -z "$root" ] && id "$run_as" >/dev/null 2>&1 || return 0
    for place in $state; do
        install -d -o "$run_as" -g "$run_as" -m "${place%%:*}" "${place#*:}"
    done
}

uninstall() {
    rm -f "$root$prefix/bin/pushwake" "$root$lib/libpushwake.so.1" "$root$lib/libpushwake.so" "$root$prefix/include/pushwake.h"
    rm -f "$root$lib/pkgconfig/pushwake.pc" "$kamailio/pushwake.so" "$asterisk/res_pushwake.so"
    rm -f "$unit" "$root$prefix/lib/tmpfiles.d/pushwake.conf"
    rm -rf "$doc" "$share/pushwake" "$root$lib/pushwake-openssl"
    rm -f "$share"/man/man1/pushwake.1 "$share"/man/man1/pushwake-*.1 "$share/man/man5/pushwake.conf.5"
    rm -f "$share/bash-completion/completions/pushwake" "$share/zsh/vendor-completions/_pushwake"
    rm -f "$share/fish/vendor_completions.d/pushwake.fish"
    [ -n "$root" ] || PATH=$PATH:/sbin:/usr/sbin ldconfig
}

[ $# -gt 0 ] || { echo "usage: $0 common|kamailio|asterisk|host|uninstall..." >&2; exit 2; }
for part in "$@"; do
    case $part in
        kamailio | asterisk) "install_$part" ;;
        common | host | uninstall) "$part" ;;
        *) echo "install: there is no part $part; see the head of $0" >&2; exit 2 ;;
    esac
done
