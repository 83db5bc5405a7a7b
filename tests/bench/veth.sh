#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# veth.sh -- bulk goodput against windowed raw UDP and kernel TCP, in one run:
# two namespaces of this run's own, joined by veth, one core a side.
#
#     tests/bench/veth.sh BUILD [ROUNDS [SECONDS [CONFIG...]]]
#
# Path V is the default veth, which carries 64 KiB super-packets whole; path W has
# all offloads off, so that every packet is a packet.  Prints a line of JSON a
# measurement, then the medians as ratios to raw UDP.  Needs root and, for the row
# of TCP, iperf3; exits 77 where namespaces cannot be made.
set -u

build=${1:?usage: veth.sh BUILD [ROUNDS [SECONDS [CONFIG...]]]}
rounds=${2:-5}
seconds=${3:-3}
shift $(($# < 3 ? $# : 3))
configs=(${@:-bulk})
flood=$build/tests/bench/flood
here=nopal-a-$$ there=nopal-b-$$
results=$(mktemp)
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$(dirname "$0")/../../configs}

cleanup() {
	ip netns del "$here" 2>/dev/null
	ip netns del "$there" 2>/dev/null
	rm -f "$results"
}
trap cleanup EXIT

[ "$(id -u)" = 0 ] || { echo "veth.sh: needs root" >&2; exit 77; }
ip netns add "$here" 2>/dev/null && ip netns add "$there" 2>/dev/null || {
	echo "veth.sh: cannot make network namespaces" >&2
	exit 77
}
ip link add va netns "$here" type veth peer name vb netns "$there"
ip -n "$here" addr add 10.9.0.1/24 dev va
ip -n "$there" addr add 10.9.0.2/24 dev vb
for side in "$here va" "$there vb"; do
	set -- $side
	ip -n "$1" link set lo up
	ip -n "$1" link set "$2" up
done

path() {
	local word=on
	[ "$1" = V ] || word=off
	for side in "$here va" "$there vb"; do
		set -- $side
		ip netns exec "$1" ethtool -K "$2" tso $word gso $word gro $word \
			tx-udp-segmentation $word tx $word rx $word >/dev/null 2>&1
	done
}

# One measurement: the receiver on core 1, the sender on core 0.
measure() {
	local what=$1 mode=$2
	shift 2
	ip netns exec "$there" taskset -c 1 "$flood" "$mode" recv 10.9.0.2:9000 "$@" \
		>"$results.one" &
	local receiver=$!
	sleep 0.3
	ip netns exec "$here" taskset -c 0 "$flood" "$mode" send 10.9.0.2:9000 \
		"$seconds" "$@" >/dev/null
	wait $receiver
	local bps
	bps=$(sed -n 's/.*"goodput_bps":\([0-9]*\).*/\1/p' "$results.one")
	echo "{\"path\":\"$way\",\"round\":$round,\"what\":\"$what\",\"goodput_bps\":${bps:-0}}"
	echo "$way $what ${bps:-0}" >>"$results"
	rm -f "$results.one"
}

tcp() {
	command -v iperf3 >/dev/null || return
	ip netns exec "$there" taskset -c 1 iperf3 -s -1 >/dev/null &
	local server=$!
	sleep 0.3
	local bps
	bps=$(ip netns exec "$here" taskset -c 0 iperf3 -c 10.9.0.2 -t "$seconds" -J |
		sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[[:space:]]*\([0-9]*\).*/\1/p')
	wait $server
	echo "{\"path\":\"$way\",\"round\":$round,\"what\":\"tcp\",\"goodput_bps\":${bps:-0}}"
	echo "$way tcp ${bps:-0}" >>"$results"
}

for way in V W; do
	path $way
	for round in $(seq "$rounds"); do
		for what in $(printf '%s\n' raw tcp "${configs[@]}" | shuf); do
			case $what in
			raw) measure raw raw ;;
			tcp) tcp ;;
			*) measure "$what" bulk "$what" ;;
			esac
		done
	done
done

median() { sort -n | awk '{v[NR]=$1} END {print NR ? v[int((NR + 1) / 2)] : 0}'; }
for way in V W; do
	raw=$(awk -v w=$way '$1 == w && $2 == "raw" {print $3}' "$results" | median)
	for what in raw tcp "${configs[@]}"; do
		bps=$(awk -v w=$way -v x="$what" '$1 == w && $2 == x {print $3}' "$results" |
			median)
		awk -v w=$way -v x="$what" -v b="$bps" -v r="$raw" 'BEGIN {
			printf "path %s  %-8s %7.2f Gbit/s  %5.2f of raw UDP\n",
			       w, x, b / 1e9, r ? b / r : 0 }'
	done
done
