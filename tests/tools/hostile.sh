#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile.sh PROGRAM -- wrong words end with 2 and a fix; limits, doubled
# signals, stuck readers and peers that are not there end in good order.
set -u
nopal=$1
work=$(mktemp -d) || exit 77
pids=
failed=0
stop() {
	for process in $pids; do
		kill -9 "$process" 2>/dev/null
	done
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM
wrong() {
	echo "FAILED: $*"
	failed=1
}
# Waits until a file has a line; a script has no better clock than this.
wait_line() {
	tries=0
	until grep -q "$1" "$2" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { wrong "no \`$1\` in $2"; return 1; }
		sleep 0.05
	done
}
wait_end() {
	tries=0
	while kill -0 "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || return 1
		sleep 0.05
	done
}
port_of() {
	sed -n 's/^listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$1"
}
refuses() {
	timeout 10 "$nopal" "$@" </dev/null >/dev/null 2>"$work/said"
	code=$?
	[ $code -eq 2 ] || wrong "exit code $code, not 2: $*"
	grep -q '^  fix: ' "$work/said" || wrong "no fix: $*"
}

# ------------------------------------------------------------- wrong words
echo x >"$work/one"
mkdir "$work/folder"
for peer in 127.0.0.1:0 0.0.0.0:9 '[::]:9' 224.0.0.1:9 255.255.255.255:9; do
	refuses send "$work/one" "$peer"
	refuses stream -c bulk "$peer"
done
refuses send "$work/folder" 127.0.0.1:9
refuses send "$work/none" 127.0.0.1:9
refuses send - 127.0.0.1:9
refuses send -dash 127.0.0.1:9
grep -q -e 'after --' "$work/said" || wrong "a leading dash is not explained"
refuses recv --listen nonsense
refuses recv --listen 127.0.0.1:0 -o "$work/one"
refuses recv --listen 127.0.0.1:0 --peer-sessions 0
refuses recv --listen 127.0.0.1:0 --peer-bytes much
refuses serve "$work/folder" --peer-sessions 1025
refuses stream -c bulk --listen 127.0.0.1:0 --out nonsense
refuses stream -c bulk --listen 127.0.0.1:0 --out file:/none/none
refuses stream -c bulk --listen 127.0.0.1:0 --out udp://127.0.0.1:0
refuses stream -c bulk 127.0.0.1:9 --in "file:$work/folder"
refuses stream -c bulk 127.0.0.1:9 --in "file:$work/none"
refuses stream -c bulk 127.0.0.1:9 --rate 0
refuses trace "$work/none"
refuses link "delay 1ms" --relay 127.0.0.1:9 127.0.0.1:9
refuses link "delay 1ms" 127.0.0.1:9 127.0.0.1:8

# ------------------------------- a limit on file sizes is an error of that file
head -c 3000000 /dev/urandom >"$work/big"
(ulimit -f 1000 && exec "$nopal" recv -o "$work/in" --listen 127.0.0.1:0 \
	2>"$work/limited.log") &
receiver=$!
pids="$pids $receiver"
wait_line '^listening on' "$work/limited.log" || exit 77
port=$(port_of "$work/limited.log")
timeout 20 "$nopal" send "$work/big" "$work/one" "127.0.0.1:$port" \
	2>"$work/send.log"
[ $? -eq 1 ] || wrong "a file beyond the limit: $(cat "$work/send.log")"
cmp "$work/one" "$work/in/one" || wrong "the next file did not come"
[ "$(ls -A -I .nopal-reset-key "$work/in")" = one ] || wrong "left: $(ls -A "$work/in")"

# -------------------- more than one address may have unfinished: both sides say so
"$nopal" recv -o "$work/bounded" --listen 127.0.0.1:0 --peer-bytes 1MB --json \
	>"$work/json" 2>"$work/bounded.log" &
pids="$pids $!"
wait_line '^listening on' "$work/bounded.log"
timeout 20 "$nopal" send "$work/big" "$work/one" \
	"127.0.0.1:$(port_of "$work/bounded.log")" 2>"$work/said"
[ $? -eq 1 ] || wrong "more than may be was taken"
for log in "$work/said" "$work/bounded.log"; do
	grep -q 'big: too many unfinished bytes of one address' "$log" ||
		wrong "no reason: $(cat "$log")"
done
grep -q 'bytes.*, from 127.0.0.1:[0-9]*$' "$work/bounded.log" ||
	wrong "the receiver does not name its peer"
wait_line '"file":"one","peer":"127.0.0.1:[0-9]*".*"result":"ok"' "$work/json"
[ "$(ls -A -I .nopal-reset-key "$work/bounded")" = one ] || wrong "left: $(ls -A "$work/bounded")"

# ------------------------------ a composition that differs: told, with a fix
timeout 5 "$nopal" send "$work/one" "127.0.0.1:$port" -c ctp_bulk --json \
	>"$work/json" 2>"$work/said"
[ $? -eq 1 ] || wrong "another composition was taken"
grep -q '^  fix: ' "$work/said" || wrong "no fix for another composition"
grep -q '"result":"failed"' "$work/json" || wrong "no JSON of what failed"

# --------------------- timeout(1) and sudo send a signal twice: that is once
"$nopal" recv -o "$work/free" --listen 127.0.0.1:0 2>"$work/free.log" &
pids="$pids $!"
wait_line '^listening on' "$work/free.log"
"$nopal" send "$work/big" "127.0.0.1:$(port_of "$work/free.log")" \
	--rate 4Mbit --jsonl \
	>"$work/json" 2>"$work/said" &
sender=$!
pids="$pids $sender"
wait_line interval "$work/json"
kill -TERM $sender
kill -TERM $sender 2>/dev/null
wait $sender
code=$?
[ $code -eq 1 ] || wrong "a doubled signal ended it with $code"
grep -q '"result":"failed"' "$work/json" || wrong "no JSON of the interrupted"

# ---------------------------------- a reader that is stuck: a signal ends it
mkfifo "$work/pipe"
sleep 60 <"$work/pipe" &
pids="$pids $!"
"$nopal" stream -c bulk --listen 127.0.0.1:0 >"$work/pipe" \
	2>"$work/stuck.log" &
stuck=$!
pids="$pids $stuck"
wait_line '^listening on' "$work/stuck.log"
head -c 300000 /dev/zero | timeout 20 "$nopal" stream -c bulk \
	"127.0.0.1:$(port_of "$work/stuck.log")" >/dev/null 2>&1
sleep 1
kill -TERM $stuck
if wait_end $stuck; then
	wait $stuck
	[ $? -eq 3 ] || wrong "output that was lost is no good end"
else
	wrong "a stuck reader cannot be interrupted"
fi

[ $failed -eq 0 ] && echo "well"
exit $failed
