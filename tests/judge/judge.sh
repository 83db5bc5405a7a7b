#!/bin/sh
# SPDX-License-Identifier: MIT
# judge.sh -- broken microprotocols, one a run: each is caught, and blamed by name, in
# `nopal sim`, by `nopal send` and `nopal recv` over UDP, and some by `nopal send` to
# many, by `nopal fetch`, and by `nopal stream`, alone and on a flow.
# usage: judge.sh NOPAL FOLDER
#
# FOLDER has a plugin for each line of the file `cases` beside this script: the legs of
# its run, divided by commas; its name; what of its base it stands in for, divided by
# commas; the base; and `lossy` where it takes losses to show.  A `-` stands for nothing.
# A leg with a `?` after it is to notice, and cannot know whom to blame.
#
# The runs wait for their patience most of the time, so many go on at once, and those
# that wait longest come first.
set -u
# what is broken may leak; and a search for leaks may hang where a signal comes meanwhile
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
self=$0
at_once=24
words="rate 20mbit delay 10ms loss 3% duplicate 1% reorder 1%"
live_words="rate 50mbit delay 2ms loss 3% duplicate 2% reorder 2%"
live="--watch --patience 1s"

# The last number after the colon of an address in a file, once it is there: also on a
# busy machine, but not where the program has ended.
port_in() {
	until grep -qs "$2" "$1"; do
		kill -0 $! 2>/dev/null || return
		sleep 0.02
	done
	sed -n "s/^.*$2 127.0.0.1:\([0-9]*\);.*/\1/p" "$1" | head -1
}

# config NAME WITHOUT BASE LAYER
config() (
	base=$3 part="$1 {}"
	[ "$base" = - ] && base=ctp_bulk
	case $4 in
	-) echo "message_limit = 1000B" ;;
	destination) base=one_to_many_all part="layer \"$4\" { $part }" ;;
	*) base=streams part="layer \"$4\" { $part }" ;;
	esac
	echo "extends = \"$base\""
	echo "plugin = {\"$folder/$1.so\"}"
	echo "budget_bytes = 32MiB"
	[ "$2" = - ] || echo "without = {\"$(echo "$2" | sed 's/,/","/g')\"}"
	echo "$part"
)

# judged LEG EXIT FILES...: somebody failed, and it is the one that is broken
judged() {
	case $1 in *\?) who= ;; *) who=": $name: " ;; esac
	leg=$1 code=$2
	shift 2
	[ "$code" != 0 ] || echo "$name, $leg: nobody noticed"
	if [ "$who" ]; then
		grep -qs "^nopal: blamed$who" "$@"
	else
		grep -qs "^nopal: broken: " "$@"
	fi || { echo "$name, $leg: it is not blamed"; tail -n 5 "$@"; }
	case $name$leg in
	*\?) ;;
	forget_*) grep -qs "^nopal: held: .* for $name: " "$@" ||
		echo "$name, $leg: what it holds is not listed" ;;
	esac
}

sim_leg() {
	"$nopal" sim "$at/c.conf" --messages 200 --size 1000B --link "$words" \
		>"$at/sim.out" 2>"$at/sim.err"
	judged "$1" $? "$at/sim.err"
}

# listen FILE TOOL...: in the background, at $port
listen() {
	log=$1
	shift
	timeout 60 "$nopal" "$@" -c "$at/c.conf" --listen 127.0.0.1:0 2>"$log" &
	listeners="$listeners $!"
	port=$(port_in "$log" "listening on")
}

# listened: they end; one that failed is a fault that was noticed
listened() {
	kill -INT $listeners 2>/dev/null
	for one in $listeners; do wait $one || code=1; done
}

udp_leg() {
	listen "$at/recv.err" recv -o "$at/out" --once $live
	relay=
	if [ "$lossy" = lossy ]; then
		"$nopal" link "$live_words" --relay 127.0.0.1:0 "127.0.0.1:$port" \
			>"$at/relay.err" 2>&1 &
		relay=$!
		port=$(port_in "$at/relay.err" "relay at")
	fi
	timeout 60 "$nopal" send "$folder.files/file" "127.0.0.1:$port" \
		-c "$at/c.conf" $live 2>"$at/send.err"
	code=$?
	listened
	[ -z "$relay" ] || { kill $relay; wait $relay; } 2>/dev/null
	judged "$1" $code "$at/send.err" "$at/recv.err"
}

# JSON has the verdict that was said.
json() {
	grep -q '"judged":{.*"verdict":"broken"\|"blamed":{"micro' "$at/json" ||
		echo "$name, $1: no verdict in JSON"
}

many_leg() {
	listen "$at/recv1.err" recv -o "$at/out1" $live
	to=127.0.0.1:$port
	listen "$at/recv2.err" recv -o "$at/out2" $live
	timeout 60 "$nopal" send "$folder.files/file" "$to" "127.0.0.1:$port" \
		-c "$at/c.conf" $live --json >"$at/json" 2>"$at/send.err"
	code=$?
	json "$1"
	listened
	judged "$1" $code "$at/send.err" "$at"/recv?.err
}

fetch_leg() {
	listen "$at/serve1.err" serve "$folder.files"
	to=127.0.0.1:$port
	listen "$at/serve2.err" serve "$folder.files"
	timeout 60 "$nopal" fetch file "$to" "127.0.0.1:$port" -c "$at/c.conf" \
		$live --wait 1s -o "$at/file" --json >"$at/json" 2>"$at/fetch.err"
	code=$?
	json "$1"
	listened
	judged "$1" $code "$at/fetch.err"
}

stream_leg() {
	listen "$at/listen.err" stream --out "file:$at/streamed" $live
	timeout 60 "$nopal" stream "127.0.0.1:$port" --in "file:$folder.files/file" \
		--size 1000B -c "$at/c.conf" $live 2>"$at/open.err"
	code=$?
	listened
	judged "$1" $code "$at/listen.err" "$at/open.err"
}

if [ "${1:-}" = one ]; then
	nopal=$2 folder=$3 work=$4 leg=$5 name=$6
	without=${7:--} base=${8:--} lossy=${9:--}
	listeners= at=$work/$name.${leg%\?} layer=-
	case $leg in
	many* | fetch*) layer=destination ;;
	flow*) layer=flow ;;
	esac
	mkdir "$at"
	config "$name" "$without" "$base" "$layer" >"$at/c.conf"
	case $leg in
	flow*) stream_leg "$leg" ;;
	*) "${leg%\?}_leg" "$leg" ;;
	esac
	exit 0
fi

nopal=${1:-${NOPAL:-nopal}}
work=$(mktemp -d) || exit 77
trap 'rm -rf "$work"' EXIT
mkdir "$work/broken.files" "$work/runs"
ln -s "$(cd "$2" && pwd)" "$work/broken"
head -c 200000 /dev/urandom >"$work/broken.files/file" || exit 77
while read -r legs rest; do
	for leg in $(echo "$legs" | tr , ' '); do echo "$leg $rest"; done
done <"$(dirname "$self")/cases" >"$work/legs"
xargs -P $at_once -L 1 "$self" one "$nopal" "$work/broken" "$work/runs" \
	<"$work/legs" >"$work/faults" 2>&1
cat "$work/faults"
[ "$(ls "$work/runs" | wc -l)" -eq "$(wc -l <"$work/legs")" ] &&
	[ ! -s "$work/faults" ]
