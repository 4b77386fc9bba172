#!/bin/sh
# Installs Pilot from an archive that .ci/dist made:
#   sh install.sh [--prefix DIR] [--sums FILE|URL] ARCHIVE|URL
# The archive has to have the checksum that SHA256SUMS says, which is looked for beside it unless told. Goes to /usr/local for
# root and to ~/.local for everyone else. Needs tar, and curl or wget for a URL.
set -eu

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

usage() {
  printf 'usage: sh install.sh [--prefix DIR] [--sums FILE|URL] ARCHIVE|URL\n' >&2
  exit 2
}

prefix='' sums='' archive=''
while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --sums) [ $# -gt 1 ] || usage ;;
  esac
  case $1 in
    --prefix) prefix=$2 && shift 2 ;;
    --sums) sums=$2 && shift 2 ;;
    -*) usage ;;
    *)
      [ -z "$archive" ] || usage
      archive=$1
      shift
      ;;
  esac
done
[ -n "$archive" ] || usage
if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
fi
name=${archive##*/}
case $archive in
  */*) beside=${archive%/*}/SHA256SUMS ;;
  *) beside=SHA256SUMS ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/pilot-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fetch FROM TO: a copy of a file or of what a URL leads to.
fetch() {
  case $1 in
    https://* | http://* | file://*)
      if command -v curl >/dev/null; then
        curl -fsSL -o "$2" "$1" || fail "cannot load $1"
      else
        wget -qO "$2" "$1" || fail "cannot load $1"
      fi
      ;;
    *) cp "$1" "$2" || fail "cannot read $1" ;;
  esac
}

fetch "$archive" "$work/archive"
fetch "${sums:-$beside}" "$work/sums"
expected=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$work/sums")
[ -n "$expected" ] || fail "${sums:-$beside} has no checksum of $name"
if command -v sha256sum >/dev/null; then
  found=$(sha256sum <"$work/archive")
else
  found=$(shasum -a 256 <"$work/archive")
fi
[ "${found%% *}" = "$expected" ] || fail "$name is not what its checksum says; nothing was installed"

mkdir "$work/files"
tar -xzf "$work/archive" -C "$work/files" --strip-components=1
[ -x "$work/files/bin/pilot" ] || fail "$name has no bin/pilot"
mkdir -p "$prefix/bin"
if [ -d "$work/files/share" ]; then
  mkdir -p "$prefix/share"
  cp -R "$work/files/share/." "$prefix/share/"
fi
# Renamed into place, so that a Pilot that runs keeps its program.
cp "$work/files/bin/pilot" "$prefix/bin/.pilot.new"
mv "$prefix/bin/.pilot.new" "$prefix/bin/pilot"
printf 'installed %s\n' "$prefix/bin/pilot"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) printf '%s is not on your PATH\n' "$prefix/bin" ;;
esac
