# SPDX-License-Identifier: MIT
#
# For the scripts that make a Debian in a directory; read by them. They set `root`, the directory, and `name`, which
# messages begin with. DEBIAN_MIRROR chooses another mirror.

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
log=$root.log

fail() {
    echo "$name: $1" >&2
    [ ! -s "$log" ] || tail -n 15 "$log" >&2
    exit 1
}

in_root() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >>"$log" 2>&1
}

# Whether the directory is as this version of the script makes it.
is_made() {
    [ "$(cat "$root/.pushwake-recipe" 2>/dev/null)" = "$1" ]
}

# Two test runs at once must not both build it.
lock_root() {
    [ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root; run it with sudo"
    command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
    mkdir -p "$(dirname "$root")"
    exec 9>"$root.lock"
    flock 9
}

# A minimal Debian of this suite that starts no services.
make_debian() {
    if [ ! -e "$root/etc/debian_version" ] || [ -d "$root/debootstrap" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase "$1" "$root" "$mirror" >>"$log" 2>&1 || fail "debootstrap failed"
    fi
    # debootstrap may leave these mounted; who copies or removes the directory would go into them.
    for place in proc sys; do
        ! mountpoint -q "$root/$place" || umount "$root/$place" || fail "$root/$place is mounted; umount it"
    done
    cat >"$root/etc/apt/apt.conf.d/90pushwake" <<'CONF'
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
CONF
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
}
