#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs the Valkey and the Redis of a later Debian into the directory that kamailio-chroot.sh makes, and writes
# programs that run them on this system: DIR/pushwake/valkey-server and DIR/pushwake/redis-server. Trixie has
# Valkey 8.1 and Redis 8.0. Tests take the one that PUSHWAKE_VALKEY names.
#
# usage: scripts/store-servers.sh SUITE     prints the directory of both
#
# Needs root. DEBIAN_MIRROR chooses another mirror.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:?usage: store-servers.sh trixie|sid}
root=$here/.cache/kamailio-$suite-root
name=store-servers
. "$here/scripts/chroot.sh"

# Once it is there its module is left alone: tests may be using it.
lock_root
if [ ! -e "$root/.pushwake-recipe" ]; then
    exec 9>&-
    "$here/scripts/kamailio-chroot.sh" "$suite" >/dev/null
    lock_root
fi
log=$root.servers.log
: >"$log"

# The packages of the tools have the servers too, and start none.
if [ ! -x "$root/usr/bin/valkey-check-rdb" ] || [ ! -x "$root/usr/bin/redis-check-rdb" ]; then
    in_root apt-get update || fail "apt-get update failed"
    in_root apt-get install -y valkey-tools redis-tools || fail "installing Valkey and Redis failed"
    in_root apt-get clean
fi

loader=$(ls "$root"/lib64/ld-linux-*.so.* "$root"/lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
[ -n "$loader" ] || fail "no dynamic loader in $root"
libraries=$(dirname "$(find "$root/usr/lib" -name 'libssl.so.3' | head -n 1)")

# A program that runs with the libraries of its own Debian, on the files of this one. Its name says what it is.
write_program() {
    cat >"$root/pushwake/$1.new" <<END
#!/bin/sh
exec '$loader' --argv0 redis-server --library-path '$libraries' '$root/usr/bin/$2' "\$@"
END
    chmod 755 "$root/pushwake/$1.new"
    mv "$root/pushwake/$1.new" "$root/pushwake/$1"
}

write_program valkey-server valkey-check-rdb
write_program redis-server redis-check-rdb
echo "$root/pushwake"
