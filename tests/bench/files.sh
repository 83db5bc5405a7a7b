#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# files.sh -- `nopal send` to `nopal recv` over loopback, against raw UDP from
# memory to memory, in one run.
#
#     tests/bench/files.sh BUILD [ROUNDS [MIB [CONFIG]]]
#
# Files lie in $NOPAL_BENCH_FILES (default /dev/shm).  What counts most is CPU time a
# gigabyte, which a busy machine changes least.  Rows:
#
#     raw     flood_raw: sender on core 0, receiver on core 1; two seconds
#     file    one file of MIB, likewise
#     loops1  two files at once to one receiver with one loop, on whatever cores
#     loops2  ... with two loops
#
# Prints a line of JSON a measurement, then the medians.
set -u

build=${1:?usage: files.sh BUILD [ROUNDS [MIB [CONFIG]]]}
rounds=${2:-5}
mib=${3:-1024}
config=${4:-bulk}
nopal=$build/tools/nopal flood=$build/tests/bench/flood_raw
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$(dirname "$0")/../../configs}
work=$(mktemp -d "${NOPAL_BENCH_FILES:-/dev/shm}/nopal-bench.XXXXXX") || exit 77
trap 'rm -rf "$work"' EXIT
head -c "${mib}M" /dev/urandom >"$work/one" || exit 77
ln "$work/one" "$work/two"

# timed NAME COMMAND...: wall, user and system seconds into $work/NAME.time
timed() {
	local name=$1 TIMEFORMAT='%R %U %S'
	shift
	{ time "$@" >"$work/$name.out" 2>"$work/$name.log"; } 2>"$work/$name.time"
}
cpu_of() { cat "$@" | awk '{ s += $2 + $3 } END { print s }'; }

# say WHAT BYTES SECONDS SENDERS-CPU RECEIVER-CPU
say() {
	awk -v w="$1" -v n="$round" -v b="$2" -v s="$3" -v x="$4" -v y="$5" 'BEGIN {
		printf "{\"what\":\"%s\",\"round\":%d,\"GB_per_s\":%.3f,\"send_cpu_s_per_GB\":%.3f,\"recv_cpu_s_per_GB\":%.3f}\n",
		       w, n, b / s / 1e9, x * 1e9 / b, y * 1e9 / b }' | tee -a "$work/results"
}

raw() {
	timed receiver taskset -c 1 "$flood" recv 127.0.0.1:19871 2 raw &
	sleep 0.3
	timed sender taskset -c 0 "$flood" send 127.0.0.1:19871 2 raw
	wait
	local bytes bps
	bytes=$(sed -n 's/.*"delivered_bytes":\([0-9]*\).*/\1/p' "$work/receiver.out")
	bps=$(sed -n 's/.*"goodput_bps":\([0-9]*\).*/\1/p' "$work/receiver.out")
	say raw "$bytes" "$(awk -v b="$bytes" -v r="$bps" 'BEGIN { print b * 8 / r }')" \
		"$(cpu_of "$work/sender.time")" "$(cpu_of "$work/receiver.time")"
}

# listen PREFIX OPTIONS...: a receiver in the background; sets $port
listen() {
	local prefix=$1
	shift
	rm -rf "$work/in" "$work/receiver.log"
	timed receiver sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" \
		$prefix "$nopal" recv -c "$config" -o "$work/in" \
		--listen 127.0.0.1:0 "$@" &
	port=
	until [ -n "$port" ]; do
		sleep 0.05
		port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\);.*/\1/p' \
			"$work/receiver.log" 2>/dev/null)
	done
}
seconds_of() { sed -n 's/.* in \([0-9.]*\) s, .*/\1/p' "$@" | sort -n | tail -n 1; }

file() {
	listen "taskset -c 1" --once
	timed sender taskset -c 0 "$nopal" send -c "$config" "$work/one" 127.0.0.1:$port
	wait
	say file $((mib << 20)) "$(seconds_of "$work/sender.log")" \
		"$(cpu_of "$work/sender.time")" "$(cpu_of "$work/receiver.time")"
}

loops() {
	listen "" --loops "$1"
	timed one "$nopal" send -c "$config" "$work/one" 127.0.0.1:$port &
	local first=$!
	timed two "$nopal" send -c "$config" "$work/two" 127.0.0.1:$port
	wait $first
	kill -INT "$(cat "$work/pid")"
	wait
	say "loops$1" $((mib << 21)) "$(seconds_of "$work/one.log" "$work/two.log")" \
		"$(cpu_of "$work/one.time" "$work/two.time")" \
		"$(cpu_of "$work/receiver.time")"
}

for round in $(seq "$rounds"); do
	for what in $(shuf -e raw file loops1 loops2); do
		case $what in
		loops*) loops "${what#loops}" ;;
		*) "$what" ;;
		esac
	done
done

median() { # FIELD WHAT
	sed -n "s/.*\"what\":\"$2\".*\"$1\":\([0-9.]*\).*/\1/p" "$work/results" |
		sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : 0 }'
}
for what in raw file loops1 loops2; do
	printf '%-7s %6.2f GB/s  CPU s a GB: sender %.3f, receiver %.3f\n' $what \
		"$(median GB_per_s $what)" "$(median send_cpu_s_per_GB $what)" \
		"$(median recv_cpu_s_per_GB $what)"
done
