#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts packages into an apt repository: a plain folder, for any web server or for `file:`. What is in the folder already stays, so
# that apt can go back to an earlier release. docs/install.md says how hosts use it.
#
# usage: scripts/make/repository.sh FOLDER SUITE=PACKAGES...    such as .build/repository bookworm=.build/deb-bookworm
#
# REPOSITORY_KEY names a file with the secret key that signs it, as `gpg --export-secret-keys` writes it. Default:
# .cache/repository-key.asc, made on the spot. Keep it: hosts trust a folder by its key.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 2 ] || { echo "usage: $0 FOLDER SUITE=PACKAGES..." >&2; exit 2; }
for tool in apt-ftparchive gpg dpkg-deb; do
    command -v $tool >/dev/null || { echo "repository: $tool is missing; run scripts/make/setup.sh --packages" >&2; exit 1; }
done
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift

# A short path: the agent's socket is in there.
GNUPGHOME=$(mktemp -d /tmp/pushwake-key.XXXXXX)
export GNUPGHOME
trap 'gpgconf --kill gpg-agent 2>/dev/null || true; rm -rf "$GNUPGHOME"' EXIT
key=${REPOSITORY_KEY:-$here/.cache/repository-key.asc}
if [ ! -e "$key" ]; then
    [ -z "${REPOSITORY_KEY:-}" ] || { echo "repository: there is no key $key" >&2; exit 1; }
    gpg -q --batch --passphrase '' --quick-generate-key 'PushWake packages <maintainers@pushwake.invalid>' ed25519 sign never 2>/dev/null
    mkdir -p "${key%/*}"
    (umask 077 && gpg -q --batch --armor --export-secret-keys >"$key")
    echo "repository: made the key $key, without a passphrase; keep it, and keep it secret"
fi
gpg -q --batch --import "$key"
gpg -q --batch --export >"$folder/pushwake.gpg"
sign() { gpg -q --batch --yes --pinentry-mode loopback --passphrase "${REPOSITORY_PASSPHRASE:-}" "$@"; }

for pair in "$@"; do
    suite=${pair%%=*} packages=${pair#*=}
    pool=$folder/pool/$suite dists=$folder/dists/$suite
    mkdir -p "$pool" "$dists"
    found=''
    for package in "$packages"/*.deb; do
        [ -e "$package" ] || { echo "repository: there are no packages in $packages" >&2; exit 1; }
        found=yes
        # Hosts may have fetched it: a version never changes.
        copy=$pool/${package##*/}
        if [ -e "$copy" ] && ! cmp -s "$package" "$copy"; then
            echo "repository: $copy is there already and is another one; commit what has changed, or take it out of the folder" >&2
            exit 1
        fi
        install -m 644 "$package" "$copy"
    done
    architectures=$(for package in "$pool"/*.deb; do dpkg-deb -f "$package" Architecture; done | sort -u | grep -vx all | paste -sd ' ')
    for architecture in $architectures; do
        lists=$dists/main/binary-$architecture
        mkdir -p "$lists"
        (cd "$folder" && apt-ftparchive --arch "$architecture" packages "pool/$suite") >"$lists/Packages"
        gzip -n -9 -k -f "$lists/Packages"
    done
    rm -f "$dists/Release" "$dists/InRelease" "$dists/Release.gpg"
    apt-ftparchive -o APT::FTPArchive::Release::Origin=PushWake -o APT::FTPArchive::Release::Label=PushWake \
        -o APT::FTPArchive::Release::Suite="$suite" -o APT::FTPArchive::Release::Codename="$suite" \
        -o APT::FTPArchive::Release::Components=main -o APT::FTPArchive::Release::Architectures="$architectures" \
        release "$dists" >"$GNUPGHOME/Release"
    cp "$GNUPGHOME/Release" "$dists/Release"
    sign --clearsign -o "$dists/InRelease" "$dists/Release"
    sign --armor --detach-sign -o "$dists/Release.gpg" "$dists/Release"
done
echo "$folder"
