#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols SOURCE BUILD -- what objects define and want: one public symbol for a
# microprotocol; no clock, no randomness, no socket outside runtime/io; nothing in the
# library that ends the process; nothing but nopal_ names in the library, and of the
# runtime's own those that its map names for fused units.
set -eu
build=$2
private=$(grep -o 'nopal__[a-z_]*;' "$1/runtime/libnopal.map" | tr ';\n' '| ')
private=$(echo $private | sed 's/| */|/g; s/|$//')
command -v nm >/dev/null || { echo "no nm here"; exit 77; }

world='time|gettimeofday|clock_gettime|clock|times|nanosleep|usleep|sleep|rand|random'
world="$world|srand|srandom|drand48|getrandom|getentropy|arc4random|socket|bind"
world="$world|connect|send|sendto|sendmsg|sendmmsg|recv|recvfrom|recvmsg|recvmmsg"
world="$world|poll|select|epoll_wait|event_[a-z_]*"

# wants NAMES OBJECT...: "FILE: NAME" for each of the names that an object wants; what
# FORTIFY checks is the same call.
wants() {
	names=$1
	shift
	nm -A -u "$@" | sed 's|^.*/\([^/:]*\)\.c\.o: *U |\1: |; s/@.*//; s/: __\(.*\)_chk$/: \1/' |
		grep -E "^[^ ]*: ($names)\$" | sed 's/: /: wants /' || true
}

# files of support have names of their own family in the library alone
nm -A -g --defined-only "$build"/microprotocols/libmicroprotocols.a.p/*.o |
	awk -v registry="$build/microprotocols/builtin.c" '
	BEGIN {
		while ((getline line < registry) > 0)
			if (match(line, /&nopal_[a-z0-9_]*,/))
				listed[substr(line, RSTART + 1, RLENGTH - 2)] = 1
	}
	$NF ~ /^__odr_asan/ { next }
	{
		file = $1
		sub(/\.c\.o:.*/, "", file)
		sub(/.*\//, "", file)
		defined[file] = defined[file] " " $NF
	}
	END {
		for (file in defined) {
			name = file
			sub(/^[a-z]*_/, "", name)
			name = "nopal_" name
			if (name in listed && defined[file] != " " name)
				print file ": " name " alone is public; here:" defined[file]
		}
	}' >"$build/symbols.faults"
wants "$world" "$build"/microprotocols/libmicroprotocols.a.p/*.o >>"$build/symbols.faults"
objects=$(ls "$build"/libnopal.a.p/*.o "$build"/libnopal.so*.p/*.o 2>/dev/null |
	grep -v -e io_live -e io_blocking)
# shellcheck disable=SC2086 # the list is meant to be split
wants "$world" $objects >>"$build/symbols.faults"
wants 'abort|exit|_exit|__assert_fail' "$build"/microprotocols/libmicroprotocols.a.p/*.o \
	$(ls "$build"/libnopal.a.p/*.o "$build"/libnopal.so*.p/*.o 2>/dev/null) \
	>>"$build/symbols.faults"

for library in "$build"/libnopal.so; do
	nm -D --defined-only "$library" | awk '{ print $NF }' |
		grep -v -E '^(nopal_[a-z0-9]|__odr_asan|_init|_fini|__bss|_edata|_end)' |
		grep -v -E -x "$private" |
		sed 's/^/the library exports /' || true
done >>"$build/symbols.faults"
sort -u "$build/symbols.faults"
[ ! -s "$build/symbols.faults" ]
