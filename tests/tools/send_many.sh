#!/bin/sh
# SPDX-License-Identifier: MIT
# send_many.sh -- one file to several receivers at once, over loopback: in each mode,
# with receivers that refuse, that are killed in the middle, and that are not there.
#
#   send_many.sh PROGRAM        (or $NOPAL; exit 77: it cannot run here)
set -u
nopal=${1:-${NOPAL:-}}
[ -x "$nopal" ] || { echo "no program: skipped"; exit 77; }
work=$(mktemp -d) || exit 77
pids= port=$((20000 + ($$ * 53) % 30000))

trap 'kill -9 $pids 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	tail -n 6 "$work"/*.log
	exit 1
}

stop() {
	kill -INT $pids 2>/dev/null
	wait $pids 2>/dev/null
	pids=
	grep -q Sanitizer "$work"/*.log 2>/dev/null && fail "a receiver has a fault"
}
# receivers COUNT CONF: number i has folder $work/i and address $to_i; all are in $to.
receivers() {
	stop
	to=
	for i in $(seq "$1"); do
		port=$((port + 1))
		rm -rf "${work:?}/$i"
		mkdir "$work/$i"
		"$nopal" recv -c "$2" -o "$work/$i" --listen "127.0.0.1:$port" \
			2>"$work/recv$i.log" &
		pids="$pids $!"
		eval "pid_$i=$! to_$i=127.0.0.1:$port"
		to="$to 127.0.0.1:$port"
	done
	for i in $(seq "$1"); do
		tries=0
		until grep -q '^listening on' "$work/recv$i.log" 2>/dev/null; do
			tries=$((tries + 1))
			[ $tries -gt 200 ] && { cat "$work"/recv*.log; exit 77; }
			sleep 0.05
		done
	done
}
# send CODE WORDS...: it ends with this code.
send() {
	code=$1
	shift
	timeout 60 "$nopal" send "$@" >"$work/send.json" 2>"$work/send.log"
	got=$?
	[ $got -eq "$code" ] || fail "send ended with $got in place of $code"
}
# row I WORD: what the table says of receiver i.
row() {
	eval "address=\$to_$1"
	grep -q "^  $address  *$2" "$work/send.log" || fail "receiver $1 is not: $2"
}
same() {
	for i in "$@"; do
		cmp "$work/file" "$work/$i/file" || fail "receiver $i has another file"
		[ "$(ls -A "$work/$i")" = file ] || fail "something was left at $i"
	done
}
# Bytes that a receiver has of the file, in the part that it is building.
arrived() {
	stat -c %s "$work/$1/.file.nopal-part" 2>/dev/null || echo 0
}
# Kills the first of these receivers that has some of the file.
kill_one() {
	tries=0
	while [ $tries -lt 500 ]; do
		for i in $1; do
			[ "$(arrived "$i")" -lt 200000 ] && continue
			eval "kill -9 \$pid_$i"
			echo "$i" >"$work/killed"
			return 0
		done
		tries=$((tries + 1))
		sleep 0.02
	done
	return 1
}
# send_and_kill CODE RECEIVERS WORDS...: in the middle, slow enough for that.
send_and_kill() {
	code=$1
	kill_one "$2" &
	killer=$!
	shift 2
	send "$code" "$work/file" "$@" --rate 80Mbit
	wait $killer || fail "nothing came to the receivers"
	row "$(cat "$work/killed")" died
}
quick='--set keep_alive.interval=200ms --set keep_alive.timeout=1500ms'

# ---- all: every receiver has every byte; and again: each has it already
head -c 5000000 /dev/urandom >"$work/file" || exit 77
receivers 3 one_to_many_all
send 0 "$work/file" $to -c one_to_many_all --json
same 1 2 3
grep -q '"complete":3' "$work/send.json" || fail "no JSON of three"
send 0 "$work/file" $to -c one_to_many_all
for i in 1 2 3; do row $i 'was there'; done

# ---- two files: all have the first one already; of the second, one has another in
# its place, of another length, and one has one of the same length
head -c 300000 /dev/urandom >"$work/second"
echo other >"$work/2/second"
head -c 300000 /dev/zero >"$work/3/second"
send 1 "$work/file" "$work/second" $to -c one_to_many_all
row 1 complete
row 2 refused
row 3 failed
[ "$(grep -c 'and differs' "$work/send.log")" = 2 ] || fail "why was not said"
cmp "$work/second" "$work/1/second" || fail "the second file differs"
[ "$(cat "$work/2/second")" = other ] || fail "a file was written over"
head -c 300000 /dev/zero | cmp - "$work/3/second" || fail "a file was written over"

# ---- one address is a group of one; several are none for a config without
rm "$work/1/file"
send 0 "$work/file" $to_1 -c one_to_many_all
cmp "$work/file" "$work/1/file" || fail "a group of one has another file"
send 2 "$work/file" $to
send 2 "$work/file" $to_1 $to_1 -c one_to_many_all

# ---- any and quorum get it everywhere; who is not there is no matter
for mode in any quorum; do
	receivers 3 one_to_many_all
	send 0 "$work/file" $to 127.0.0.1:9 -c one_to_many_$mode \
		--set virtual_circuit.attempts=2
	same 1 2 3
	grep -q '127.0.0.1:9 .*no answer' "$work/send.log" || fail "$mode: not told"
done
send 1 "$work/file" $to 127.0.0.1:9 -c one_to_many_all \
	--set virtual_circuit.attempts=2
send 1 "$work/file" 127.0.0.1:9 -c one_to_many_all --set virtual_circuit.attempts=1
grep -q '0 of 1 have it, and 1 must' "$work/send.log" || fail "nobody has it"

# ---- one is killed in the middle: the others have it, and the rule is judged
head -c 12000000 /dev/urandom >"$work/file"
receivers 3 one_to_many_all
send_and_kill 1 2 $to -c one_to_many_all $quick
same 1 3
receivers 3 one_to_many_all
send_and_kill 0 1 $to -c one_to_many_quorum --set fan_out.acks=2 $quick
same 2 3
receivers 3 one_to_many_all
send_and_kill 0 3 $to -c one_to_many_any $quick
same 1 2

# ---- one behind a thin link, whom the composition leaves out or sends away
slow() {
	receivers 2 one_to_many_any
	port=$((port + 1))
	"$nopal" link "rate 30mbit limit 100" --relay "127.0.0.1:$port" "$to_2" \
		>"$work/link.json" 2>"$work/link.log" &
	pids="$pids $!"
	tries=0
	until grep -q 'relay at' "$work/link.log" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -gt 200 ] && fail "no relay"
		sleep 0.05
	done
	to_2=127.0.0.1:$port
	send 0 "$work/file" "$to_1" "$to_2" -c one_to_many_any \
		--set fan_out.backlog=6MiB --set fan_out.slow="$1"
	same 1
	row 2 "$2"
}
slow leave died
grep -q 'too far behind' "$work/send.log" || fail "why it was sent away was not said"
slow skip failed

# ---- balance: each keeps its pieces in place, and together they have all
together() {
	for i in "$@"; do
		[ -e "$work/$i/file" ] && fail "a share is called a file at $i"
	done
	perl -e 'local $/; my $all = ""; my $file = <STDIN>;
		for (@ARGV) { open(my $f, "<", $_) or die; my $p = <$f>; $all |= $p; }
		exit($all eq $file ? 0 : 1);' \
		$(for i in "$@"; do echo "$work/$i/.file.nopal-part"; done) \
		<"$work/file" || fail "together they do not have it: $*"
}
receivers 3 one_to_many_balance
send 0 "$work/file" $to -c one_to_many_balance
for i in 1 2 3; do row $i share; done
together 1 2 3
grep -q 'a share of it' "$work/recv2.log" || fail "it is not called a share"

# ---- balance, and one is killed: the others have all of it, also what it had
receivers 3 one_to_many_balance
send_and_kill 0 "1 2 3" $to -c one_to_many_balance $quick
together $(echo 1 2 3 | tr -d "$(cat "$work/killed")")

# ---- many
head -c 100000 /dev/urandom >"$work/file"
receivers 32 one_to_many_all
send 0 "$work/file" $to -c one_to_many_all
same $(seq 32)
stop
echo "well"
