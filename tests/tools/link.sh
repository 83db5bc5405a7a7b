#!/bin/sh
# SPDX-License-Identifier: MIT
# link PROGRAM -- a file crosses the relay of `nopal link`, which loses, delays
# and duplicates; it arrives whole, and the relay says what it did.
set -eu
nopal=$1
folder=$(mktemp -d)
pids=
stop() {
	for process in $pids; do
		kill "$process" 2>/dev/null || true
	done
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
port=$((20000 + ($$ * 7) % 20000))

mkdir "$folder/in"
head -c 300000 /dev/urandom >"$folder/file"
"$nopal" recv -c bulk -o "$folder/in" --listen "127.0.0.1:$port" \
	>"$folder/recv.log" 2>&1 &
pids=$!
"$nopal" link "delay 3ms 1ms loss 2% duplicate 1%" --json \
	--relay "127.0.0.1:$((port + 1))" "127.0.0.1:$port" \
	>"$folder/link.json" 2>"$folder/link.log" &
relay=$!
pids="$pids $relay"
tries=0
while ! grep -q 'relay at' "$folder/link.log" || ! kill -0 "$relay" 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 50 ] || { cat "$folder/link.log"; exit 1; }
	sleep 0.1
done
sleep 0.3

timeout 60 "$nopal" send "$folder/file" "127.0.0.1:$((port + 1))" -c bulk >&2 ||
	{ cat "$folder/recv.log"; exit 1; }
cmp "$folder/file" "$folder/in/file"
kill -INT "$relay"
wait "$relay"
cat "$folder/link.json"
grep -q '"schema": "nopal.link"' "$folder/link.json"
grep -q '"lost_datagrams": [1-9]' "$folder/link.json"
