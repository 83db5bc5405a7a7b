#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# loss.sh -- goodput under random loss, against kernel TCP in the same run.
#
#     tests/bench/loss.sh BUILD [ROUNDS [SECONDS [ROW...]]]
#     tests/bench/loss.sh build 3 20 tcp_cubic tcp_bbr bulk bulk_cubic
#
# Two namespaces with `nopal link --tun` between them (tools/two-hosts): 100 Mbit/s, 25
# ms each way, a queue of 400 packets, and loss in both directions behind it.  A
# row is tcp_NAME, the kernel's TCP with that congestion control by iperf3, or a
# config, from memory to memory.  In every round each row runs once at each loss,
# rows in random order, and all meet the same seed.
#
# Prints a line of JSON a measurement, then medians: goodput, its share of what
# can arrive at most (rate x body / 1500 x (1 - loss), the body of `bulk`), and
# the queue that stood without loss.  All rows run at the lowest real-time
# priority, so that what else the machine does shows less.
#
# $LOSSES: other percentages; $LINK: other words of the link; $RUN: what commands
# run by, instead of `chrt -r 1`.  Needs root and iperf3; 77 where namespaces
# cannot be made.
set -u

build=$(realpath "${1:?usage: loss.sh BUILD [ROUNDS [SECONDS [ROW...]]]}")
rounds=${2:-3}
seconds=${3:-20}
shift $(($# < 3 ? $# : 3))
rows=("$@")
[ $# -gt 0 ] || rows=(tcp_cubic tcp_bbr bulk bulk_cubic)
losses=${LOSSES:-0 1 5 10 15}
link=${LINK:-rate 100mbit delay 25ms limit 400}
run=${RUN-$(chrt -r 1 echo chrt -r 1 2>/dev/null)}
rate_bps=100000000 # of the default link; figures are shares of it
bdp_bytes=625000
packet_bytes=1500
patience=120 # seconds beyond those of a measurement: what is sent must arrive

source=$(realpath "$(dirname "$0")/../..")
flood=$build/tests/bench/flood_nopal
export NOPAL=$build/tools/nopal NOPAL_CONFIGS=${NOPAL_CONFIGS:-$source/configs}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

for program in "$flood" "$NOPAL"; do
	[ -x "$program" ] || { echo "loss.sh: no $program; build it first" >&2; exit 2; }
done
case " ${rows[*]}" in
*" tcp_"*)
	command -v iperf3 >/dev/null || {
		echo "loss.sh: no iperf3; run tools/install-packages bench" >&2
		exit 77
	}
	;;
esac
body_bytes=$("$NOPAL" explain bulk --json | sed -n 's/.*"body_bytes": \([0-9]*\).*/\1/p')

# number FILE KEY: the first integer behind a key of JSON.
number() {
	sed -n 's/.*"'"$2"'": *\([0-9][0-9]*\).*/\1/p' "$1" | head -1
}

# lab LOSS COMMAND_A COMMAND_B: sender on A; its output and B's land in files.
lab() {
	timeout --foreground $((seconds + patience)) "$source/tools/two-hosts" --wait --seed "$round" \
		--report "$work/link" "$link loss $1%" "$2" "$3"
}

# Each sets goodput_bps.
tcp() {
	lab "$1" "$run iperf3 -c \$PEER -C ${2#tcp_} -t $seconds -J >$work/one" \
		"$run iperf3 -s -1 >/dev/null"
	goodput_bps=$(sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[[:space:]]*\([0-9]*\).*/\1/p' "$work/one")
}
config() {
	lab "$1" "$run $flood send \$PEER:9000 $seconds $2" \
		"$run $flood recv \$HERE:9000 $seconds $2 >$work/one"
	goodput_bps=$(number "$work/one" goodput_bps)
}

at_most() {
	awk -v r=$rate_bps -v b="$body_bytes" -v p=$packet_bytes -v l="$1" \
		'BEGIN { printf "%.0f", r * b / p * (1 - l / 100) }'
}

measure() {
	local loss=$1 row=$2
	: >"$work/one"
	: >"$work/link"
	case $row in
	tcp_*) tcp "$loss" "$row" ;;
	*) config "$loss" "$row" ;;
	esac
	[ -s "$work/link" ] || return 1
	# forward is the first direction of the report: the data's
	awk -v loss="$loss" -v round="$round" -v row="$row" -v bps="${goodput_bps:-0}" \
		-v most="$(at_most "$loss")" -v bdp=$bdp_bytes \
		-v queue="$(number "$work/link" queue_mean_bytes)" \
		-v overflowed="$(number "$work/link" overflowed_datagrams)" \
		-v late="$(number "$work/link" late_peak_ns)" \
		-v missed="$(number "$work/link" missed_datagrams)" 'BEGIN {
		printf "{\"loss_percent\":%s,\"round\":%d,\"row\":\"%s\"," \
			"\"goodput_bps\":%.0f,\"share\":%.4f," \
			"\"queue_mean_bytes\":%d,\"queue_mean_bdp\":%.3f," \
			"\"overflowed\":%d,\"late_peak_ns\":%d,\"missed\":%d}\n",
			loss, round, row, bps, bps / most, queue, queue / bdp,
			overflowed, late, missed }'
	echo "$loss $row ${goodput_bps:-0} $(number "$work/link" queue_mean_bytes)" \
		"$(number "$work/link" late_peak_ns)" >>"$work/results"
}

: >"$work/results"
for round in $(seq "$rounds"); do
	for loss in $losses; do
		for row in $(printf '%s\n' "${rows[@]}" | shuf); do
			measure "$loss" "$row" || exit 77
		done
	done
done

# median COLUMN LOSS ROW
median() {
	awk -v c="$1" -v l="$2" -v r="$3" '$1 == l && $2 == r { print $c }' \
		"$work/results" | sort -n |
		awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : 0 }'
}

printf '\nMbit/s (share of what can arrive); medians of %d rounds of %d s\n%6s %9s' \
	"$rounds" "$seconds" loss "at most"
printf ' %15s' "${rows[@]}"
echo
for loss in $losses; do
	most=$(at_most "$loss")
	printf '%5s%% %9s' "$loss" "$(awk -v b="$most" 'BEGIN { printf "%.1f", b / 1e6 }')"
	for row in "${rows[@]}"; do
		awk -v b="$(median 3 "$loss" "$row")" -v m="$most" 'BEGIN {
			printf " %8.1f (%4.2f)", b / 1e6, b / m }'
	done
	echo
done
case " $losses " in *" 0 "*)
	printf '\nqueue without loss, mean KiB (of a bandwidth-delay product)\n%16s' ""
	for row in "${rows[@]}"; do
		awk -v q="$(median 4 0 "$row")" -v d=$bdp_bytes 'BEGIN {
			printf " %8.0f (%4.2f)", q / 1024, q / d }'
	done
	echo
	;;
esac
awk '$5 > late { late = $5 } END {
	printf "\nlargest lateness of the emulator: %.2f ms\n", late / 1e6 }' "$work/results"
