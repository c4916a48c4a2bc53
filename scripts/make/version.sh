#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Says which release these sources are. The one source of it is the first numbered heading of CHANGELOG.md, and what git
# counts since that release:
#   0.1.0                 the release: its tag v0.1.0, or, without one, the commit that wrote the heading
#   0.1.0+37.gabc1234     37 commits later; followed by .dirty when the tree has changes that are not committed
#   0.1.0+20261128T0120.gabc1234   a shallow clone and what `git archive` has made know no history: the commit's time
#   0.1.0+0.unknown       neither git nor an archive of it
# dpkg sorts them in this order, except that a time counts as later than a number.
#
# usage: scripts/make/version.sh [--epoch]     --epoch: when the commit was made, in seconds since 1970
#
# PUSHWAKE_VERSION and SOURCE_DATE_EPOCH stand above both.
set -eu
cd "$(dirname "$0")/../.."

# `git archive` writes the commit here: its hash, its time and its tags.
archive='$Format:%H %ct %D$'

heading=$(sed -n 's/^## \([0-9][0-9.]*\) (\(.*\))$/\1 \2/p' CHANGELOG.md | head -n 1)
base=${heading% *}
[ -n "$base" ] || { echo "version: CHANGELOG.md has no heading such as \"## 0.1.0 (2026-11-22)\"" >&2; exit 1; }

commit='' epoch='' tags=''
is_git() { [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; }
if is_git; then
    commit=$(git rev-parse HEAD) epoch=$(git log -1 --format=%ct)
else
    case $archive in
        *Format*) epoch=$(date -u -d "${heading#* }" +%s) ;;
        *) read -r commit epoch tags <<END
$archive
END
            ;;
    esac
fi

if [ "${1:-}" = --epoch ]; then
    echo "${SOURCE_DATE_EPOCH:-$epoch}"
    exit
fi

# Commits since the release, or nothing when that cannot be known here.
count() {
    start=$(git rev-parse -q --verify "refs/tags/v$base^{commit}") || start=
    [ "$start" != "$commit" ] || { echo 0; return; }
    [ "$(git rev-parse --is-shallow-repository)" = false ] || return 0
    [ -n "$start" ] || start=$(git log --format=%H -S"## $base (" -- CHANGELOG.md | tail -n 1)
    git rev-list --count "${start:-HEAD}..HEAD"
}

version() {
    [ -n "$commit" ] || { echo "$base+0.unknown"; return; }
    number='' dirty=''
    if is_git; then
        number=$(count)
        [ -z "$(git status --porcelain)" ] || dirty=.dirty
    else
        case ", $tags, " in *", tag: v$base, "*) number=0 ;; esac
    fi
    number=${number:-$(date -u -d "@$epoch" +%Y%m%dT%H%M)}
    [ "$number$dirty" = 0 ] || base="$base+$number.g$(echo "$commit" | cut -c 1-7)$dirty"
    echo "$base"
}

version=${PUSHWAKE_VERSION:-$(version)}
# What packages, file names and metrics take.
case $version in
    [0-9]*) ;;
    *) echo "version: \"$version\" does not begin with a digit" >&2; exit 1 ;;
esac
case $version in
    *[!A-Za-z0-9.+~]*) echo "version: \"$version\" has other characters than A-Z a-z 0-9 . + ~" >&2; exit 1 ;;
esac
echo "$version"
