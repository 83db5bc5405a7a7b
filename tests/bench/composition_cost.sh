#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# composition_cost.sh -- what composing costs: the hand-written transport of
# tests/bench/monolithic against the composed one, the same bytes in the same
# simulator, in instructions (counted by callgrind, exact) and in time.
#
#     tests/bench/composition_cost.sh BUILD [CONFIG [CORE...]]
#
# BUILD is a release build; CORE is monolith, composed (interpreted) or fused, or
# SENDER:RECEIVER where they differ (composed and fused do not mix); the first one
# is what others are held against.  A figure is the difference of two runs of
# different length, divided by that of their data packets, so that set-up
# cancels: a data packet, both ends together.  On the link `trains` what left
# together arrives together, as with segmentation offloads; on `single` every
# packet has its own instant, and every second one is acknowledged.
#
#   protocol  what differs: the core, with what its program hands it
#   copies    memcpy and memset of libc
#   checksum  ISA-L
#   engine    the simulator, and the shim that lets two cores share it
#   ns        user time of all that, without callgrind: the shortest of several
#             runs, of this machine and moment
#
# With TOP=n in the environment, also the n functions that cost each core most.
# Exits with 77 where there is no valgrind.
set -eu

build=${1:?usage: composition_cost.sh BUILD [CONFIG [CORE...]]}
config=${2:-bulk_cubic}
shift $(($# < 2 ? $# : 2))
cores=("$@")
[ $# -gt 0 ] || cores=(monolith composed fused)
short=10000000 long=30000000      # bytes under callgrind
short_timed=100000000 long_timed=900000000 rounds=5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$(dirname "$0")/../../configs}

command -v callgrind_annotate >/dev/null || {
	echo "composition_cost.sh: needs valgrind" >&2
	exit 77
}

# flow CORE BYTES LINK [PROGRAM...] -- one flow, under the program; its report
flow() {
	local core=$1 bytes=$2 link=$3
	shift 3
	export NOPAL_FUSED=off
	case $core in
	*fused*) NOPAL_FUSED=$(realpath "$build")/configs ;;
	esac
	core=${core//fused/composed}
	"$@" "$build/tests/bench/monolithic/monolith" sim "$bytes" --link "$link" \
		--core "${core%:*}" --to "${core#*:}" --config "$config" \
		2>"$folder/log" >"$folder/json" || {
		cat "$folder/log" "$folder/json" >&2
		exit 1
	}
}

packets() { # of the last flow
	sed 's/.*"transmissions":\([0-9]*\),.*"receiver".*/\1/' "$folder/json"
}

# Instructions by function and object, and data packets.
counted() { # CORE BYTES LINK
	flow "$@" valgrind --tool=callgrind --callgrind-out-file="$folder/out"
	echo "packets $(packets)"
	callgrind_annotate --threshold=100 --auto=no --show-percs=no "$folder/out" |
		sed -n 's/^ *\([0-9,]*\)  *[^ :]*:\([^ ]*\)\(.*\)/\2 \1 \3/p' |
		tr -d ,
}

# The shortest user time and the packets.
timed() { # CORE BYTES LINK
	local TIMEFORMAT=%U
	for ((round = 0; round < rounds; round++)); do
		{ time flow "$@"; } 2>&1
	done | sort -n | head -n 1
	packets
}

nanoseconds() { # CORE LINK
	{
		timed "$1" $short_timed "$2"
		timed "$1" $long_timed "$2"
	} | awk '{ v[NR] = $1 } END { printf "%.0f", (v[3] - v[1]) * 1e9 / (v[4] - v[2]) }'
}

sort_out() { # CORE WAY NS
	awk -v core="$1" -v link="$2" -v ns="$3" -v top="$folder/top" '
	function kind(name, object) {
		if (object ~ /libisal/) return "checksum"
		if (name ~ /^__mem(cpy|set|move)_/) return "copies"
		if (name ~ /^(sim_|nopal__sim|nopal__link|nopal_sim)/ ||
		    name ~ /^(__wrap_|monolith__owns$|nopal__endpoint_port$)/ ||
		    name ~ /^(main|simulate)$/)
			return "engine"
		return "protocol"
	}
	$1 == "packets" { packets += FNR == NR ? -$2 : $2; next }
	{
		more = FNR == NR ? -$2 : $2
		count[kind($1, $3)] += more
		each[$1] += more
		all += more
	}
	END {
		for (name in each)
			printf "%s %s %.1f %s\n", link, core,
				each[name] / packets, name >top
		printf "%s %s %.1f %.1f %.1f %.1f %.1f %s\n", link, core,
			count["protocol"] / packets, count["copies"] / packets,
			count["checksum"] / packets, count["engine"] / packets,
			all / packets, ns
	}' "$folder/short" "$folder/long"
}

for way in trains single; do
	link="delay 1ms limit 100000"
	[ $way = trains ] || link="rate 10gbit $link"
	for core in "${cores[@]}"; do
		counted "$core" $short "$link" >"$folder/short"
		counted "$core" $long "$link" >"$folder/long"
		sort_out "$core" $way "$(nanoseconds "$core" "$link")"
		[ "${TOP:-0}" = 0 ] ||
			sort -k3,3nr "$folder/top" | head -n "$TOP" >>"$folder/tops"
	done
done | awk '
	BEGIN {
		print "a data packet, both ends: instructions, ns; and against the first row"
		printf "%-7s %-18s %8s %7s %8s %7s %7s %5s   %s\n", "link", "core",
			"protocol", "copies", "checksum", "engine", "all", "ns",
			"protocol all ns"
	}
	$1 != way { way = $1; protocol = $3; all = $7; ns = $8 }
	{
		printf "%-7s %-18s %8.1f %7.1f %8.1f %7.1f %7.1f %5d   %.2f %.2f %.2f\n",
			$1, $2, $3, $4, $5, $6, $7, $8,
			$3 / protocol, $7 / all, $8 / ns
	}'
[ ! -e "$folder/tops" ] || cat "$folder/tops"
