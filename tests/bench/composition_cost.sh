#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# composition_cost.sh -- what composing costs, in instructions: the hand-written
# transport of tests/bench/monolithic against the composed one, the same bytes in
# the same simulator, counted by callgrind.
#
#     tests/bench/composition_cost.sh BUILD [CONFIG [CORE...]]
#
# BUILD is a release build; CORE is monolith, composed (interpreted) or fused, the
# first one is what others are held against.  A figure is the difference of two runs of
# different length, divided by that of their data packets, so that set-up
# cancels: instructions a data packet, of both ends together.  On the link
# `trains` what left together arrives together, as with segmentation offloads; on
# `single` every packet has its own instant, and every second one is acknowledged.
#
#   protocol  what differs: the core, with what its program hands it
#   copies    memcpy and memset of libc
#   checksum  ISA-L
#   engine    the simulator, and the shim that lets two cores share it
#
# With TOP=n in the environment, the n functions that cost each core most.
#
# Exits with 77 where there is no valgrind.
set -eu

build=${1:?usage: composition_cost.sh BUILD [CONFIG [CORE...]]}
config=${2:-bulk_cubic}
shift $(($# < 2 ? $# : 2))
cores=("$@")
[ $# -gt 0 ] || cores=(monolith composed fused)
short=10000000 long=30000000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$(dirname "$0")/../../configs}

command -v callgrind_annotate >/dev/null || {
	echo "composition_cost.sh: needs valgrind" >&2
	exit 77
}

# run CORE BYTES LINK -- instructions by function and object, and data packets
run() {
	local core=$1
	export NOPAL_FUSED=off
	[ "$core" != fused ] || core=composed NOPAL_FUSED=$(realpath "$build")/configs
	valgrind --tool=callgrind --callgrind-out-file="$folder/out" \
		"$build/tests/bench/monolithic/monolith" sim "$2" --core "$core" \
		--config "$config" --link "$3" 2>"$folder/log" >"$folder/json" || {
		cat "$folder/log" >&2
		exit 1
	}
	sed 's/.*"departures":\([0-9]*\),.*"receiver".*/packets \1/' "$folder/json"
	callgrind_annotate --threshold=100 --auto=no --show-percs=no "$folder/out" |
		sed -n 's/^ *\([0-9,]*\)  *[^ :]*:\([^ ]*\)\(.*\)/\2 \1 \3/p' |
		tr -d ,
}

sort_out() {
	awk -v core="$1" -v link="$2" -v top="$folder/top" '
	function kind(name, object) {
		if (object ~ /libisal/) return "checksum"
		if (name ~ /^__mem(cpy|set|move)_/) return "copies"
		if (name ~ /^(nopal_)?(_?sim|_link)_/ || name ~ /^__wrap_/ ||
		    name ~ /^(sim_|nopal__sim|nopal__link|nopal_sim)/ ||
		    name ~ /^(monolith__owns|nopal__endpoint_port|main|simulate)$/)
			return "engine"
		return "protocol"
	}
	$1 == "packets" { packets += FNR == NR ? -$2 : $2; next }
	{
		count[kind($1, $3)] += FNR == NR ? -$2 : $2
		each[$1] += FNR == NR ? -$2 : $2
	}
	END {
		for (name in each)
			printf "%s %s %.1f %s\n", link, core,
				each[name] / packets, name >top
		for (k in count) all += count[k]
		printf "%s %s %.1f %.1f %.1f %.1f %.1f\n", link, core,
			count["protocol"] / packets, count["copies"] / packets,
			count["checksum"] / packets, count["engine"] / packets,
			all / packets
	}' "$folder/short" "$folder/long"
}

for way in trains single; do
	link="delay 1ms limit 100000"
	[ $way = trains ] || link="rate 10gbit $link"
	for core in "${cores[@]}"; do
		run "$core" $short "$link" >"$folder/short"
		run "$core" $long "$link" >"$folder/long"
		sort_out "$core" $way
		[ "${TOP:-0}" = 0 ] ||
			sort -k3,3nr "$folder/top" | head -n "$TOP" >>"$folder/tops"
	done
done | awk '
	BEGIN {
		print "instructions a data packet, both ends"
		printf "%-7s %-10s %9s %7s %9s %7s %7s   %s\n", "link", "core",
			"protocol", "copies", "checksum", "engine", "all",
			"protocol and all against the first"
	}
	$1 != way { way = $1; protocol = $3; all = $7 }
	{
		printf "%-7s %-10s %9.1f %7.1f %9.1f %7.1f %7.1f   %.2f %.2f\n",
			$1, $2, $3, $4, $5, $6, $7, $3 / protocol, $7 / all
	}'
[ ! -e "$folder/tops" ] || cat "$folder/tops"
