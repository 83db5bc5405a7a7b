#!/bin/sh
# SPDX-License-Identifier: MIT
# judge.sh -- broken microprotocols, one a run: each is caught, and blamed by name, in
# `nopal sim` and by `nopal send` and `nopal recv` over UDP.
# usage: judge.sh NOPAL FOLDER
#
# FOLDER has a plugin for each line of the file `cases` beside this script: its name;
# what of its base it stands in for, divided by commas; the base; and `lossy` where it
# takes losses to show.  A `-` stands for nothing.
set -u
self=$0
words="rate 20mbit delay 10ms loss 3% duplicate 1% reorder 1%"
live_words="rate 50mbit delay 2ms loss 3% duplicate 2% reorder 2%"

# The last number after the colon of an address in a file, once it is there.
port_in() {
	tries=0
	until grep -qs "$2" "$1"; do
		tries=$((tries + 1))
		[ $tries -gt 200 ] && return 1
		sleep 0.02
	done
	sed -n "s/^.*$2 127.0.0.1:\([0-9]*\);.*/\1/p" "$1" | head -1
}

# config NAME WITHOUT BASE
config() {
	base=$3
	[ "$base" = - ] && base=ctp_bulk
	echo "extends = \"$base\""
	echo "plugin = {\"$folder/$1.so\"}"
	echo "budget_bytes = 32MiB"
	echo "message_limit = 1000B"
	[ "$2" = - ] || echo "without = {\"$(echo "$2" | sed 's/,/","/g')\"}"
	echo "$1 {}"
}

# judged LEG EXIT FILES...: somebody failed, and it is the one that is broken
judged() {
	leg=$1 code=$2
	shift 2
	[ "$code" != 0 ] || echo "$name, $leg: nobody noticed"
	grep -qs "^nopal: blamed: $name: " "$@" ||
		{ echo "$name, $leg: it is not blamed"; tail -n 5 "$@"; }
}

sim_leg() {
	"$nopal" sim "$at/c.conf" --messages 200 --size 1000B --link "$words" \
		>"$at/sim.out" 2>"$at/sim.err"
	judged sim $? "$at/sim.err"
}

live_leg() {
	timeout 30 "$nopal" recv -c "$at/c.conf" -o "$at/out" --listen 127.0.0.1:0 --once \
		--watch --patience 1s 2>"$at/recv.err" &
	receiver=$!
	port=$(port_in "$at/recv.err" "listening on")
	relay=
	if [ "$1" = lossy ]; then
		"$nopal" link "$live_words" --relay 127.0.0.1:0 "127.0.0.1:$port" \
			>"$at/relay.err" 2>&1 &
		relay=$!
		port=$(port_in "$at/relay.err" "relay at")
	fi
	timeout 30 "$nopal" send "$folder.file" "127.0.0.1:$port" -c "$at/c.conf" \
		--watch --patience 1s 2>"$at/send.err"
	code=$?
	kill -INT $receiver 2>/dev/null
	wait $receiver || code=1
	[ -z "$relay" ] || { kill $relay; wait $relay; } 2>/dev/null
	judged UDP $code "$at/send.err" "$at/recv.err"
}

if [ "${1:-}" = one ]; then
	nopal=$2 folder=$3 at=$4/$5 name=$5
	mkdir "$at"
	config "$name" "${6:--}" "${7:--}" >"$at/c.conf"
	sim_leg
	live_leg "${8:--}"
	exit 0
fi

nopal=${1:-${NOPAL:-nopal}}
work=$(mktemp -d) || exit 77
trap 'rm -rf "$work"' EXIT
ln -s "$(cd "$2" && pwd)" "$work/broken"
head -c 200000 /dev/urandom >"$work/broken.file" || exit 77
xargs -P 4 -L 1 "$self" one "$nopal" "$work/broken" "$work" \
	<"$(dirname "$self")/cases" >"$work/faults" 2>&1
cat "$work/faults"
[ "$(ls "$work" | wc -l)" -gt 30 ] && [ ! -s "$work/faults" ]
