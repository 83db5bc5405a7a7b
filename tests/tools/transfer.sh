#!/bin/sh
# SPDX-License-Identifier: MIT
# transfer.sh -- a file over loopback while both sides are killed, once each.
#
#   transfer.sh PROGRAM        (or $NOPAL; exit 77: it cannot run here)
set -u
nopal=${1:-${NOPAL:-}}
[ -x "$nopal" ] || { echo "no program: skipped"; exit 77; }
work=$(mktemp -d) || exit 77
receiver= sender=
size=67108864

finish() {
	[ -n "$sender" ] && kill -9 "$sender" 2>/dev/null
	[ -n "$receiver" ] && kill -9 "$receiver" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
fail() {
	echo "FAILED: $*"
	tail -n 5 "$work"/*.log
	exit 1
}

part_bytes() {
	sed -n 's/^nopal-part 1 [0-9a-f]* [0-9]* \([0-9]*\) [0-9a-f]*$/\1/p' \
		"$work/out/.file.nopal-state" 2>/dev/null || true
}
# Waits until at least so many bytes are safe on disk.
wait_saved() {
	i=0
	while [ $i -lt 400 ]; do
		saved=$(part_bytes)
		[ "${saved:-0}" -ge "$1" ] && return 0
		i=$((i + 1))
		sleep 0.05
	done
	fail "only ${saved:-0} of $1 bytes came"
}
start_receiver() {
	"$nopal" recv -o "$work/out" --listen "127.0.0.1:$port" $1 \
		2>"$work/recv$2.log" &
	receiver=$!
	i=0
	until grep -q '^listening on' "$work/recv$2.log"; do
		i=$((i + 1))
		[ $i -gt 100 ] && { cat "$work/recv$2.log"; exit 77; }
		sleep 0.05
	done
}

head -c $size /dev/urandom >"$work/file" || exit 77
port=0
start_receiver "" 1
port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$work/recv1.log")

"$nopal" send "$work/file" "127.0.0.1:$port" --rate 200Mbit 2>"$work/send1.log" &
sender=$!
wait_saved 8000000
kill -9 $sender
wait $sender 2>/dev/null

"$nopal" send "$work/file" "127.0.0.1:$port" --rate 200Mbit 2>"$work/send2.log" &
sender=$!
wait_saved 24000000
kill -9 $receiver
wait $receiver 2>/dev/null
[ -e "$work/out/file" ] && fail "the file is there before it is whole"
kill -9 $sender
wait $sender 2>/dev/null

start_receiver --once 3
"$nopal" send "$work/file" "127.0.0.1:$port" 2>"$work/send3.log" &
sender=$!
wait $sender || fail "the third sender ended with $?"
sender=
wait $receiver || fail "the receiver ended with $?"
receiver=
grep -q 'resumed at' "$work/send3.log" || fail "it did not go on where it was"
cmp "$work/file" "$work/out/file" || fail "the files differ"
[ "$(ls -A -I .nopal-reset-key "$work/out")" = file ] || fail "something was left: $(ls -A "$work/out")"

start_receiver --once 4
"$nopal" send "$work/file" "127.0.0.1:$port" 2>"$work/send4.log" ||
	fail "an identical file is no error"
grep -q 'was there already' "$work/send4.log" || fail "it was sent once more"
wait $receiver
receiver=

# Several loops: senders at once, and one that is started again: its new port most
# likely leads it to a loop that does not have its part.
rm -rf "$work/out"
start_receiver "--loops 4" 5
"$nopal" send "$work/file" "127.0.0.1:$port" --rate 200Mbit 2>"$work/send5.log" &
sender=$!
wait_saved 8000000
kill -9 $sender
wait $sender 2>/dev/null
others=
for i in 1 2 3; do
	head -c 5000000 /dev/urandom >"$work/other$i"
	"$nopal" send "$work/other$i" "127.0.0.1:$port" 2>"$work/other$i.log" &
	others="$others $!"
done
"$nopal" send "$work/file" "127.0.0.1:$port" 2>"$work/send6.log" ||
	fail "it did not go on at several loops"
sender=
for one in $others; do
	wait "$one" || fail "one of many senders ended badly"
done
kill -INT $receiver
wait $receiver || fail "the receiver of several loops ended with $?"
receiver=
grep -q 'resumed at' "$work/send6.log" || fail "it began anew at several loops"
for name in file other1 other2 other3; do
	cmp "$work/$name" "$work/out/$name" || fail "$name differs"
done
echo "well"
