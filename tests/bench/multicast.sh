#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# multicast.sh -- one file to several hosts: by multicast, by a copy for each, by UFTP.
#
#     tests/bench/multicast.sh BUILD [ROUNDS [RECEIVERS [MEGABYTES]]]
#     tests/bench/multicast.sh build 3 3 100
#
# A bridge with a host for the sender and one for each receiver, each in a network
# namespace of its own; receivers lose packets at random, each its own, as many in a
# thousand as $LOSSES says.  By IPv6 where $FAMILY is 6, without UFTP.  In every round
# each row runs once at each loss:
#
#   multicast            configs/multicast: the rate is what the slowest takes; by
#                        IPv6 configs/multicast6
#   one_to_many_all      a copy for each, and congestion control for each
#   uftp                 UFTP at a given rate, $UFTP_RATE kbit/s
#   uftp-tfmcc           the same with its congestion control
#
# Prints a line of JSON a measurement, then medians: seconds from command to end, bytes
# that left the sender's interface over those of the file, and the ratio of seconds to
# the first row's.  A row without its program says so.  Every file is compared.
#
# Needs root, nft and, for its rows, uftp; 77 where namespaces cannot be made.
set -u

build=$(realpath "${1:?usage: multicast.sh BUILD [ROUNDS [RECEIVERS [MEGABYTES]]]}")
rounds=${2:-3}
receivers=${3:-3}
megabytes=${4:-100}
losses=${LOSSES:-0 10 50}
uftp_rate=${UFTP_RATE:-1000000}
family=${FAMILY:-4}
rows=${ROWS:-multicast one_to_many_all $([ "$family" = 6 ] || echo uftp uftp-tfmcc)}
source=$(realpath "$(dirname "$0")/../..")
nopal=$build/tools/nopal
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$source/configs} NOPAL_FUSED=${NOPAL_FUSED:-$build/configs}
. "$source/tests/tools/star.sh"

[ -x "$nopal" ] || { echo "multicast.sh: no $nopal; build it first" >&2; exit 2; }
work=$(mktemp -d)
trap 'star_close; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
star_open "$receivers" && star_lan && { [ "$family" != 6 ] || star_lan6; } || {
	echo "multicast.sh: network namespaces cannot be made here" >&2
	exit 77
}
head -c $((megabytes * 1000000)) /dev/urandom >"$work/file"

# A datagram at a receiver is lost with this chance in a thousand.
lose() {
	rule=
	[ "$1" = 0 ] || rule="meta l4proto udp numgen random mod 1000 < $1 drop"
	for i in $(seq "$receivers"); do
		(star_on "$i" nft -f -) <<-RULES || return 1
			table inet loss
			delete table inet loss
			table inet loss {
				chain in {
					type filter hook input priority 0;
					$rule
				}
			}
		RULES
	done
}
left() { $star_here cat /sys/class/net/lan/statistics/tx_bytes; }
at() {
	case $family in
	6) echo "[$(star_lan_address6 "$1")]:9000" ;;
	*) echo "$(star_lan_address "$1"):9000" ;;
	esac
}
targets() { for i in $(seq "$receivers"); do at "$i"; done; }
config() {
	case $1-$family in
	multicast-6) echo multicast6 ;;
	*) echo "$1" ;;
	esac
}
listen() {
	for i in $(seq "$receivers"); do
		rm -rf "$work/$i" && mkdir "$work/$i"
		case $1 in
		uftp*) star_on "$i" uftpd -d -q -I cable -D "$work/$i" -B 8388608 ;;
		*) star_on "$i" "$nopal" recv -c "$(config "$1")" -o "$work/$i" \
			--listen "$(at "$i")" ;;
		esac >"$work/log$i" 2>&1 &
	done
	sleep 1
}
run() {
	case $1 in
	uftp) $star_here timeout 300 uftp -q -I lan -R "$uftp_rate" -B 8388608 "$work/file" ;;
	uftp-tfmcc) $star_here timeout 300 uftp -q -I lan -C tfmcc -B 8388608 "$work/file" ;;
	*) $star_here timeout 300 "$nopal" send -c "$(config "$1")" "$work/file" $(targets) ;;
	esac >"$work/log" 2>&1
}
quiet() { # all that listens
	for i in $(seq "$receivers"); do
		ip netns pids "$star-$i" | xargs -r kill -9
	done
	wait
} 2>/dev/null
measure() { # ROW LOSS
	listen "$1"
	before=$(left) begun=$(date +%s%N)
	run "$1"
	ended=$(date +%s%N) bytes=$(($(left) - before))
	whole=0
	for i in $(seq "$receivers"); do
		cmp -s "$work/file" "$work/$i/file" && whole=$((whole + 1))
	done
	quiet
	printf '{"row":"%s","loss_permille":%d,"seconds":%d.%03d,"left":%.2f,"whole":%d}\n' \
		"$1" "$2" $(((ended - begun) / 1000000000)) \
		$(((ended - begun) / 1000000 % 1000)) \
		"$(awk "BEGIN { print $bytes / $megabytes / 1000000 }")" "$whole" |
		tee -a "$work/lines"
}

for round in $(seq "$rounds"); do
	for loss in $losses; do
		lose "$loss" || { echo "multicast.sh: no nft" >&2; exit 77; }
		for row in $rows; do
			case $row in
			uftp*) command -v uftpd >/dev/null || {
				echo "$row: no uftp; run tools/install-packages bench" >&2
				continue
			} ;;
			esac
			measure "$row" "$loss"
		done
	done
done
awk -v receivers="$receivers" '
function field(name) {
	match($0, "\"" name "\":\"?[^,\"}]*")
	return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
}
function median(list, count, i, j, swap, value) {
	for (i = 1; i <= count; i++) value[i] = list[i]
	for (i = 1; i <= count; i++)
		for (j = i + 1; j <= count; j++)
			if (value[j] < value[i]) { swap = value[i]; value[i] = value[j]; value[j] = swap }
	return value[int((count + 1) / 2)]
}
{
	row = field("row"); sub(/^"/, "", row)
	key = field("loss_permille") SUBSEP row
	if (!(key in n)) order[++keys] = key
	seconds[key, ++n[key]] = field("seconds")
	left[key, n[key]] = field("left")
	whole[key] += field("whole") == receivers
}
END {
	printf "%-18s %6s %9s %7s %14s %6s\n", "row", "loss %", "seconds", "left", "to multicast", "whole"
	for (k = 1; k <= keys; k++) {
		key = order[k]; split(key, part, SUBSEP)
		for (i = 1; i <= n[key]; i++) { s[i] = seconds[key, i]; l[i] = left[key, i] }
		took = median(s, n[key])
		if (part[2] == "multicast") first[part[1]] = took
		printf "%-18s %6.1f %9.2f %7.2f %14.2f %3d/%d\n", part[2], part[1] / 10, took, median(l, n[key]), \
			first[part[1]] ? took / first[part[1]] : 0, whole[key], n[key]
	}
}' "$work/lines"
