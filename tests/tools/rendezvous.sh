#!/bin/sh
# SPDX-License-Identifier: MIT
# rendezvous.sh PROGRAM -- two that open towards each other over loopback: a file and a
# stream arrive, whoever comes first; who is alone, or runs another composition, is
# told; wrong words have a fix.
set -u
nopal=$1
work=$(mktemp -d) || exit 77
pids=
stop() {
	for process in $pids; do
		kill "$process" 2>/dev/null
	done
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	tail -n 5 "$work"/*.err
	exit 1
}
# Ports that are free now, below those that the kernel gives out by itself.
base=$((20000 + $$ % 9000))
here=127.0.0.1:$base
there=127.0.0.1:$((base + 1))

receive() {
	timeout 100 "$nopal" recv -o "$work/in" --listen "$there" \
		--rendezvous "$here" "$@" >"$work/recv.out" 2>"$work/recv.err" &
	receiver=$!
	pids="$pids $receiver"
}
send() { # in a shell of its own
	exec timeout 100 "$nopal" send "$work/file" "$there" --rendezvous "$base" "$@" \
		>"$work/send.out" 2>"$work/send.err"
}

head -c 2000000 /dev/urandom >"$work/file" || exit 77
receive
(send) || fail "send ended with $?"
wait $receiver || fail "recv ended with $?"
cmp "$work/file" "$work/in/file" || fail "the files differ"

# The sender comes first, and the receiver when three of its requests got nowhere.
rm -f "$work/in/file"
send &
sender=$!
pids="$pids $sender"
sleep 1
receive -c bulk_cubic
wait $receiver && fail "a receiver of another composition ended well"
wait $sender && fail "a sender of another composition ended well"
for side in send recv; do
	grep -q 'another composition' "$work/$side.err" &&
		grep -q 'cubic_congestion' "$work/$side.err" &&
		grep -q 'fix: give both sides the same -c' "$work/$side.err" ||
		fail "$side was not told the difference"
done
send &
sender=$!
pids="$pids $sender"
sleep 1
receive
wait $sender || fail "the sender that came first ended badly"
wait $receiver || fail "the receiver that came last ended badly"
cmp "$work/file" "$work/in/file" || fail "the files differ"

# Both send and both receive.
seq 1 2000 >"$work/one"
seq 5000 9000 >"$work/two"
{ cat "$work/one"; sleep 3; } | timeout 60 "$nopal" stream -c bulk "$there" \
	--rendezvous "$here" --in pipe: --out pipe: >"$work/got2" 2>"$work/one.err" &
one=$!
{ cat "$work/two"; sleep 3; } | timeout 60 "$nopal" stream -c bulk "$here" \
	--rendezvous "$there" --in pipe: --out pipe: >"$work/got1" 2>"$work/two.err" &
two=$!
pids="$pids $one $two"
wait $one || fail "one end of the stream ended with $?"
wait $two || fail "the other end of the stream ended with $?"
cmp "$work/one" "$work/got1" || fail "what one side said differs"
cmp "$work/two" "$work/got2" || fail "what the other side said differs"

# Nobody there.
(send --set virtual_circuit.rendezvous=500ms) && fail "nobody took the file"
grep -q 'did not open towards us in time' "$work/send.err" &&
	grep -q 'fix: start both sides with --rendezvous' "$work/send.err" ||
	fail "who is alone was not told so"

refused() {
	timeout 10 "$nopal" "$@" >"$work/words.out" 2>"$work/words.err"
	code=$?
	[ $code = 2 ] || fail "exit code $code of: $*"
	grep -q 'fix: ' "$work/words.err" || fail "no fix for: $*"
}
refused send "$work/file" "$there" --rendezvous 0
refused send "$work/file" "$there" --rendezvous nowhere
refused send "$work/file" "$there" --rendezvous 99999
refused send "$work/file" "$there" "$here" --rendezvous 9000
refused send "$work/file" "$there" --rendezvous 9000 -c one_to_many_all
refused recv --rendezvous 127.0.0.1:0
refused recv --rendezvous "$here" --loops 2
refused stream -c ctp_minimal "$there" --rendezvous "$base" --in pipe:
refused stream -c bulk "$there" --rendezvous "$base"
refused stream -c bulk --listen "$there" --rendezvous "$base"
echo "well"
