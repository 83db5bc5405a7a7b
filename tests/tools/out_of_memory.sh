#!/bin/sh
# SPDX-License-Identifier: MIT
# out_of_memory NOPAL PRELOAD -- whichever allocation fails, of the program or of a
# library that it uses, alone or with all after it: each tool ends with a code of
# its own and a reason, and what it calls good is whole.  And where standard output
# takes nothing, no tool says that all is well.
#
# Every 29th allocation is tried; NOPAL_NO_MEMORY_STRIDE=N tries every N-th.
set -u
nopal=$1
preload=$2
stride=${NOPAL_NO_MEMORY_STRIDE:-29}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
points=0
fault() { echo "$*"; bad=1; }
export NOPAL_FUSED=off

# ------------------------------------------------------------ an allocation fails

# judge CODE WHAT: does the code go with what was said?
judge() {
	case $1 in
	0) cmp -s "$work/whole" "$work/out" || [ "$what" = sim ] ||
		fault "$2: called good, and not whole" ;;
	1 | 2 | 3) [ -s "$work/said" ] || [ -s "$work/out" ] ||
		fault "$2: code $1 without a reason" ;;
	*) fault "$2: code $1: $(head -c 300 "$work/said")" ;;
	esac
}

# point N ON TOOL...: false where none failed any more
point() {
	n=$1
	on=$2
	shift 2
	rm -f "$work/failed"
	# the program alone: timeout allocates, too
	timeout 60 env LD_PRELOAD="$preload" NOPAL_FAIL_AT="$n" \
		NOPAL_FAIL_NOTE="$work/failed" ${on:+NOPAL_FAIL_ON=1} \
		"$nopal" "$@" >"$work/out" 2>"$work/said"
	code=$?
	[ -e "$work/failed" ] || return 1
	judge "$code" "nopal $*: allocation $n${on:+ and all after it}"
	points=$((points + 1))
}

# sweep STEP TOOL...
sweep() {
	step=$1
	shift
	what=$1
	"$nopal" "$@" >"$work/whole" 2>/dev/null
	for all in "" 1; do
		at=1
		while point "$at" "$all" "$@"; do
			at=$((at + step))
		done
	done
}

sweep "$stride" check bulk
sweep "$stride" check streams --json
sweep "$stride" explain one_to_many_all
sweep $((stride * 3)) explain bulk --json
sweep $((stride * 3)) list
sweep $((stride * 3)) check no_such_config
sweep $((stride * 40)) list configs --json
sweep $((stride * 3)) sim bulk --bytes 100kB
sweep $((stride * 9)) sim streams --bytes 20kB --json
sweep $((stride * 40)) sim bulk_aead --bytes 20kB
echo "$points points"

# ------------------------------------------------------- standard output is full

# refused HOW CODE TOOL...
refused() {
	how=$1
	code=$2
	shift 2
	[ "$code" -ge 1 ] && [ "$code" -le 3 ] ||
		fault "nopal $*, $how: code $code"
	grep -q "standard output" "$work/said" ||
		fault "nopal $*, $how: no reason: $(head -c 300 "$work/said")"
}

full() {
	if [ -w /dev/full ]; then
		"$nopal" "$@" >/dev/full 2>"$work/said"
		refused "on a full disk" $? "$@"
	fi
	"$nopal" "$@" >&- 2>"$work/said"
	refused "with standard output closed" $? "$@"
}

full check bulk
full check bulk --json
full explain bulk
full graph bulk
full list
full doc resize
full sim bulk --bytes 10kB
full sim bulk --bytes 10kB --json
full sim bulk --bytes 10kB --jsonl
"$nopal" sim bulk --bytes 10kB --trace "$work/trace" >/dev/null ||
	fault "no trace was made"
full trace "$work/trace"
full why "$work/trace" 1
full fuse bulk -c
full help
full help sim
full --man
full --version
full --complete bash
exit $bad
