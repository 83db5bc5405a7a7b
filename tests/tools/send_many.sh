#!/bin/sh
# SPDX-License-Identifier: MIT
# send_many.sh -- one file to several receivers at once, over loopback: in each mode,
# with receivers that refuse, that are killed in the middle, and that are not there.
#
#   send_many.sh PROGRAM        (or $NOPAL; exit 77: it cannot run here)
. "$(dirname "$0")/many.sh"
quick='--set keep_alive.interval=200ms --set keep_alive.timeout=1500ms'

# ---- all: every receiver has every byte; and again: each has it already
head -c 5000000 /dev/urandom >"$work/file" || exit 77
receivers 3 one_to_many_all
send 0 "$work/file" $to -c one_to_many_all --json
same 1 2 3
grep -q '"complete":3' "$work/send.json" || fail "no JSON of three"
grep -q '"judged":{.*"integrity":{[^}]*"verdict":"held"' "$work/send.json" ||
	fail "it is not judged"
grep -q '"verdict":"broken"' "$work/send.json" && fail "a good run breaks a promise"
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

# ---- the paper's own header
receivers 2 one_to_many_paper
send 0 "$work/file" $to -c one_to_many_paper
same 1 2

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

# ---- none takes it: another composition runs there, or nothing: a line each, with
# cause and fix, and what differs once; no rule holds
receivers 2 bulk
for mode in all any quorum balance; do
	send 1 "$work/file" $to 127.0.0.1:9 -c one_to_many_$mode --json \
		--set virtual_circuit.attempts=2
	for i in 1 2; do row $i 'refused .*does not run this.*; fix: give both sides'; done
	says '^  127.0.0.1:9 .*no answer .*; fix: start the listener' "$work/send.log" ||
		fail "$mode: not told who is not there"
	[ "$(grep -c "^  differences at $to_1 $to_2:" "$work/send.log")" = 1 ] ||
		fail "$mode: what differs is not told once"
	says '^error: file: 0 of' "$work/send.log" || fail "$mode: the rule was not told"
	says '"fix":"give both sides' "$work/send.json" || fail "$mode: no fix in JSON"
done

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
	at relay
	"$nopal" link "rate 30mbit limit 100" --relay "$address" "$to_2" \
		>"$work/link.json" 2>"$work/link.log" &
	pids="$pids $!"
	until_true 500 says 'relay at' "$work/link.log" || fail "no relay"
	to_2=$address
	send 0 "$work/file" "$to_1" "$to_2" -c one_to_many_any \
		--set fan_out.backlog=6MiB --set fan_out.slow="$1"
	same 1
	row 2 "$2"
}
slow leave died
grep -q 'too far behind' "$work/send.log" || fail "why it was sent away was not said"
slow skip failed

# ---- balance: each keeps its pieces in place, and together they have all
receivers 3 one_to_many_balance
send 0 "$work/file" $to -c one_to_many_balance
for i in 1 2 3; do row $i share; done
together 1 2 3
grep -q 'a share of the file' "$work/recv2.log" || fail "it is not called a share"

# ---- balance, and one is killed: the others have all of it, also what it had
receivers 3 one_to_many_balance
send_and_kill 0 "1 2 3" $to -c one_to_many_balance $quick
together $(echo 1 2 3 | tr -d "$it")

# ---- many
head -c 100000 /dev/urandom >"$work/file"
receivers 32 one_to_many_all
send 0 "$work/file" $to -c one_to_many_all
same $(seq 32)
stop
echo "well"
