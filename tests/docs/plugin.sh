#!/bin/sh
# SPDX-License-Identifier: MIT
# plugin SOURCE BUILD -- the tutorial, word by word: Nopal is installed into a
# folder of its own, the plugin of write-a-microprotocol.md is built against
# that with cc and pkg-config, and a config that names it is checked and run.
set -eu
source=$1 build=$2
for tool in cc pkg-config meson awk; do
	command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

meson install -C "$build" --no-rebuild --destdir "$folder/root" >"$folder/log" 2>&1 ||
	{ cat "$folder/log"; exit 1; }
pc=$(find "$folder/root" -name nopal.pc)
[ -n "$pc" ] || { echo "no nopal.pc was installed"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$folder/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
program=$(find "$folder/root" -path '*/bin/nopal')
LD_LIBRARY_PATH=$(dirname "$(find "$folder/root" -name 'libnopal.so.0' | head -1)")
export LD_LIBRARY_PATH
NOPAL_CONFIGS=$(pkg-config --variable=configdir nopal)
case $NOPAL_CONFIGS in "$folder"*) ;; *) NOPAL_CONFIGS=$folder/root$NOPAL_CONFIGS ;; esac
export NOPAL_CONFIGS
[ -f "$NOPAL_CONFIGS/bulk.conf" ] || { echo "no bulk.conf in $NOPAL_CONFIGS"; exit 1; }
[ -n "$(pkg-config --variable=pluginsdir nopal)" ]

take() {
	awk -v name="$1" -f "$source/tests/docs/extract.awk" \
		"$source/docs/write-a-microprotocol.md" >"$folder/$1"
	[ -s "$folder/$1" ]
}
take gentle.c
take gentle.conf
cd "$folder"
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
# shellcheck disable=SC2046 # flags are words
cc -shared -fPIC -Wall -Wextra -Wno-missing-field-initializers -Werror \
	-o gentle.so gentle.c $(pkg-config --cflags nopal)
# leaks of libraries that are loaded and unloaded are not what is tested here
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
"$program" check gentle.conf
"$program" explain gentle.conf | grep -q gentle ||
	{ echo "explain does not name the plugin"; exit 1; }
"$program" sim gentle.conf --link "rate 10mbit delay 20ms loss 1%" --json

# what is installed is all that a unit wants
NOPAL_SOURCES=$(find "$folder/root" -type d -path '*/nopal/sources')
export NOPAL_SOURCES
"$program" fuse gentle.conf --source gentle.c --flag -O1
"$program" explain gentle.conf | grep -q '^runs fused: ' ||
	{ echo "the unit does not run"; exit 1; }
bulk=$(find "$folder/root" -name bulk.fused.so)
if [ -n "$bulk" ]; then
	NOPAL_FUSED=$(dirname "$bulk") "$program" explain bulk |
		grep '^runs' | grep "fused: $bulk" ||
		{ echo "the installed unit does not run"; exit 1; }
fi
