#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols SOURCE BUILD -- what objects define and want: one public symbol for a
# microprotocol; no clock, no randomness, no socket outside runtime/io; nothing
# but nopal_ names in the library.
set -eu
build=$2
command -v nm >/dev/null || { echo "no nm here"; exit 77; }
bad=0
fault() { echo "$*"; bad=1; }

world='time|gettimeofday|clock_gettime|clock|times|nanosleep|usleep|sleep|rand|random'
world="$world|srand|srandom|drand48|getrandom|getentropy|arc4random|socket|bind"
world="$world|connect|send|sendto|sendmsg|sendmmsg|recv|recvfrom|recvmsg|recvmmsg"
world="$world|poll|select|epoll_wait|event_[a-z_]*|pthread_[a-z_]*"

wants() { nm -u "$1" | awk '{ print $NF }' | sed 's/@.*//' | grep -E -x "$world" || true; }

for object in "$build"/microprotocols/libmicroprotocols.a.p/*.o; do
	file=$(basename "$object" .c.o)
	defined=$(nm -g --defined-only "$object" | awk '{ print $NF }' |
		grep -v '^__odr_asan' || true)
	case $file in
	*builtin* | *erasure_* | *crc32c_*) ;;
	*)
		name=$(sed -n 's/^nopal_//p' <<-END
			$defined
		END
		)
		[ "$(echo "$defined" | wc -l)" = 1 ] && [ -n "$name" ] ||
			fault "$file: one symbol, nopal_NAME, is public; here: $(echo $defined)"
		;;
	esac
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
		sed 's/^/the library exports /' || true
done >"$build/symbols.faults"
[ ! -s "$build/symbols.faults" ] || { cat "$build/symbols.faults"; bad=1; }
exit $bad
