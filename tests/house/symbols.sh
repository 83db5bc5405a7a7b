#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols SOURCE BUILD -- what objects define and want: one public symbol for a
# microprotocol; no clock, no randomness, no socket outside runtime/io; nothing
# but nopal_ names in the library, and of the runtime's own those that its map
# names for fused units.
set -eu
build=$2
private=$(grep -o 'nopal__[a-z_]*;' "$1/runtime/libnopal.map" | tr ';\n' '| ')
private=$(echo $private | sed 's/| */|/g; s/|$//')
command -v nm >/dev/null || { echo "no nm here"; exit 77; }
bad=0
fault() { echo "$*"; bad=1; }

world='time|gettimeofday|clock_gettime|clock|times|nanosleep|usleep|sleep|rand|random'
world="$world|srand|srandom|drand48|getrandom|getentropy|arc4random|socket|bind"
world="$world|connect|send|sendto|sendmsg|sendmmsg|recv|recvfrom|recvmsg|recvmmsg"
world="$world|poll|select|epoll_wait|event_[a-z_]*"

wants() { nm -u "$1" | awk '{ print $NF }' | sed 's/@.*//' | grep -E -x "$world" || true; }

for object in "$build"/microprotocols/libmicroprotocols.a.p/*.o; do
	file=$(basename "$object" .c.o)
	defined=$(nm -g --defined-only "$object" | awk '{ print $NF }' |
		grep -v '^__odr_asan' || true)
	# files of support have names of their own family in the library alone
	name=$(echo "$file" | sed 's/^[a-z]*_//')
	if grep -q "&nopal_$name," "$build/microprotocols/builtin.c" &&
		[ "$defined" != "nopal_$name" ]; then
		fault "$file: nopal_$name alone is public; here: $(echo $defined)"
	fi
	used=$(wants "$object")
	[ -z "$used" ] || fault "$file: wants $(echo $used)"
done

for object in "$build"/libnopal.a.p/*.o "$build"/libnopal.so*.p/*.o; do
	[ -f "$object" ] || continue
	file=$(basename "$object" .c.o)
	case $file in *io_live* | *io_blocking*) continue ;; esac
	used=$(wants "$object")
	[ -z "$used" ] || fault "$file: wants $(echo $used)"
done

for library in "$build"/libnopal.so; do
	nm -D --defined-only "$library" | awk '{ print $NF }' |
		grep -v -E '^(nopal_[a-z0-9]|__odr_asan|_init|_fini|__bss|_edata|_end)' |
		grep -v -E -x "$private" |
		sed 's/^/the library exports /' || true
done >"$build/symbols.faults"
[ ! -s "$build/symbols.faults" ] || { cat "$build/symbols.faults"; bad=1; }
exit $bad
