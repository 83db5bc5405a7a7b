#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# instructions.sh -- how many instructions a data packet costs, held against what
# it cost before: exact where times are not.
#
#     tests/bench/instructions.sh BUILD [--renew]
#
# Counts two simulated transfers of different length under callgrind; their
# difference, divided by their packets, is the cost of a packet in its steady
# state: both ends, its share of the acks, and the simulator.  Half of it is a
# side's.  Fails where a config costs 2 % more than instructions.baseline says;
# cheaper is said, so that the baseline can be renewed (--renew writes it).
# Exits 77 where the baseline was made by another compiler, or there is no valgrind:
# such figures cannot be compared.
set -u

build=${1:?usage: instructions.sh BUILD [--renew]}
renew=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
baseline=$here/instructions.baseline
packets=$build/tests/bench/packets
export NOPAL_CONFIGS=${NOPAL_CONFIGS:-$here/../../configs}
short=200 # messages
long=400
rows='bulk bulk_cubic ctp_minimal'

skip() {
	echo "instructions.sh: $1" >&2
	exit 77
}
command -v valgrind >/dev/null || skip 'there is no valgrind'
[ -x "$packets" ] || skip "there is no $packets: build it first"
grep -q '"name": "buildtype", "value": "release"' \
	"$build/meson-info/intro-buildoptions.json" || skip 'this is no release build'

# Causes of other figures, the code apart.
tools() {
	readelf -p .comment "$packets" | sed -n 's/^ *\[.*\] *//p' | sort -u
	valgrind --version
	getconf GNU_LIBC_VERSION
	uname -m
}
made_by=$(tools | paste -sd'|')

# Instructions and packets of one transfer.
count() {
	local units=$1 config=$2 messages=$3
	NOPAL_FUSED=$units valgrind --tool=callgrind \
		--callgrind-out-file=/dev/null "$packets" "$config" "$messages" 2>&1 |
		awk '/^[0-9]+$/ { packets = $1 }
		     /Collected :/ { print $NF, packets; good = packets > 0 }
		     END { exit !good }'
}

cost() {
	local a b
	a=$(count "$1" "$2" $short) && b=$(count "$1" "$2" $long) || return 1
	set -- $a $b
	echo $((($3 - $1) / ($4 - $2)))
}

figures() {
	for config in $rows; do
		echo "$config $(cost off "$config")"
		[ -e "$build/configs/$config.fused.so" ] &&
			echo "$config+fused $(cost "$build/configs" "$config")"
	done
}

if [ "$renew" = --renew ]; then
	{
		echo '# SPDX-License-Identifier: MIT'
		echo '# Instructions a data packet, both ends; see instructions.sh.'
		echo "made-by $made_by"
		figures
	} >"$baseline.new" && mv "$baseline.new" "$baseline" && cat "$baseline"
	exit
fi

[ -e "$baseline" ] || skip 'there is no baseline: make one with --renew'
was=$(sed -n 's/^made-by //p' "$baseline")
[ "$was" = "$made_by" ] || skip "the baseline is by $was, this is $made_by"
figures | awk '
	NR == FNR { before[$1] = $2; next }
	!($1 in before) || $2 == "" { print "not known: " $1; bad = 1; next }
	{
		change = 100 * ($2 - before[$1]) / before[$1]
		verdict = change > 2 ? "TOO MANY" : change < -2 ? "fewer: renew the baseline" : "good"
		printf "%-20s %6d, was %6d: %+.1f %%  %s\n", $1, $2, before[$1], change, verdict
		if (change > 2) bad = 1
	}
	END { exit bad }' "$baseline" -
