#!/bin/sh
# SPDX-License-Identifier: MIT
# stream.sh -- `nopal stream` over loopback: each end judges what it sees, and says
# which promises it cannot judge, as messages of a stream have no numbers.
#
#   stream.sh PROGRAM          (or $NOPAL; exit 77: it cannot run here)
set -u
nopal=${1:-${NOPAL:-}}
[ -x "$nopal" ] || { echo "no program: skipped"; exit 77; }
work=$(mktemp -d) || exit 77
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	tail -n 5 "$work"/*.err "$work"/*.json
	exit 1
}

# stream CODE WORDS...: the file goes over; both ends end with this code.
stream() {
	want=$1
	shift
	rm -f "$work/listen.err"
	timeout 60 "$nopal" stream "$@" --listen 127.0.0.1:0 --out "file:$work/out" \
		>"$work/listen.json" 2>"$work/listen.err" &
	listener=$!
	until grep -qs '^listening on .*:[0-9]*;' "$work/listen.err"; do
		kill -0 $listener 2>/dev/null || fail "no listener: $*"
		sleep 0.02
	done
	port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$work/listen.err")
	timeout 60 "$nopal" stream "$@" "127.0.0.1:$port" --in "file:$work/in" \
		>"$work/open.json" 2>"$work/open.err"
	code=$?
	[ $code = "$want" ] || fail "the opener ended with $code: $*"
	wait $listener
	code=$?
	[ $code = "$want" ] || fail "the listener ended with $code: $*"
}
# verdict END QUALITY WORD: at this end, in JSON.
verdict() {
	grep -q "\"type\":\"result\".*\"judged\":{.*\"$2\":{[^}]*\"verdict\":\"$3\"" \
		"$work/$1.json" || fail "$1: $2 is not: $3"
}

head -c 200000 /dev/urandom >"$work/in" || exit 77
stream 0 -c bulk --jsonl
cmp "$work/in" "$work/out" || fail "other bytes came"
verdict open delivery held
verdict open progress held
for quality in order duplicates integrity; do
	verdict open $quality "not judged"
	verdict listen $quality "not judged"
done
verdict listen delivery "not judged" # how much was sent is not known there
verdict listen progress held

stream 0 -c bulk
grep -q '^not judged: order "as sent", duplicates "none"' "$work/open.err" ||
	fail "what is not judged is not said"

# in the layers of many streams, too
stream 0 -c streams --jsonl
verdict open delivery held

# messages with a deadline, and a property that there is not
stream 0 -c ctp_mixed --with "deadline=5s every 2" --with "urgent=on" --jsonl
cmp "$work/in" "$work/out" || fail "other bytes came"
timeout 60 "$nopal" stream -c bulk 127.0.0.1:9 --with deadline=5s 2>"$work/open.err"
[ $? = 2 ] || fail "bulk knows no deadline, and it is no error"

# to two receivers, by copies and by multicast (or by copies, where nobody hears that); and one more
# that is not there is named
to_many() {
	to=
	listeners=
	for i in 1 2; do
		rm -f "$work/listen$i.err"
		timeout 60 "$nopal" stream -c "$1" --listen 127.0.0.1:0 \
			--out "file:$work/out$i" >"$work/listen$i.json" 2>"$work/listen$i.err" &
		listeners="$listeners $!"
		until grep -qs '^listening on .*:[0-9]*;' "$work/listen$i.err"; do sleep 0.02; done
		to="$to $(sed -n 's/^listening on \(127.0.0.1:[0-9]*\);.*/\1/p' "$work/listen$i.err")"
	done
	timeout 60 "$nopal" stream -c "$1" $to $2 --in "file:$work/in" --jsonl \
		>"$work/open.json" 2>"$work/open.err"
	code=$?
	for listener in $listeners; do wait $listener || fail "a listener of $1 ended with $?"; done
	for i in 1 2; do cmp "$work/in" "$work/out$i" || fail "$1: other bytes came at $i"; done
}
for config in one_to_many_all multicast; do
	to_many $config ""
	[ $code = 0 ] || fail "$config ended with $code"
	verdict open delivery held
done
to_many one_to_many_any 127.0.0.1:9
grep -q '^127.0.0.1:9: 0 of ' "$work/open.err" || fail "the lost one is not named"
timeout 60 "$nopal" stream -c bulk $to --in "file:$work/in" 2>"$work/open.err"
[ $? = 2 ] || fail "bulk goes to many"

# nobody is there
timeout 60 "$nopal" stream -c bulk 127.0.0.1:9 --set virtual_circuit.attempts=1 \
	--in "file:$work/in" --jsonl >"$work/open.json" 2>"$work/open.err"
[ $? = 1 ] || fail "nobody is there, and it is no error"
grep -q '"verdict":"broken"' "$work/open.json" && fail "who is not there breaks a promise"
echo "well"
