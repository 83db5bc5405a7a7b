#!/bin/sh
# SPDX-License-Identifier: MIT
# sim.sh -- `nopal sim` gives the same bytes for the same seed, other ones for
# another, checks what it is told, and keeps its exit codes.
# usage: sim.sh NOPAL
set -u
nopal=${1:-${NOPAL:-nopal}}
work=$(mktemp -d) || exit 77
trap 'rm -rf "$work"' EXIT
failed=0

bad() {
	echo "sim.sh: $*" >&2
	failed=1
}

# expect CODE ARGUMENTS...: runs `nopal sim`, output to $work/out and $work/err
expect() {
	code=$1
	shift
	"$nopal" sim "$@" >"$work/out" 2>"$work/err"
	got=$?
	[ "$got" = "$code" ] || bad "exit $got instead of $code: $*"
}

# says TEXT FILE
says() {
	grep -q -e "$1" "$work/$2" || bad "no '$1' in: $(cat "$work/$2")"
}

noisy="rate 20mbit delay 10ms 2ms loss 2% duplicate 1% reorder 2% limit 90"

expect 0 ctp_minimal --messages 500 --interval 1ms --link "$noisy" --json
mv "$work/out" "$work/first"
expect 0 ctp_minimal --messages 500 --interval 1ms --link "$noisy" --json
cmp -s "$work/out" "$work/first" || bad "one seed gave two results"
expect 0 ctp_minimal --messages 500 --interval 1ms --link "$noisy" --json \
	--seed 2
cmp -s "$work/out" "$work/first" && bad "two seeds gave one result"
says '"schema": "nopal.sim"' out
says '"verified": true' out

expect 0 ctp_minimal --messages 30 --interval 100ms --jsonl
[ "$(wc -l <"$work/out")" = 3 ] || bad "--jsonl: 2 moments and a result"

expect 0 ctp_minimal --messages 10 --topology dumbbell:3 --json
says '"sessions": 3' out
says '"delivered_messages": 30' out
expect 0 ctp_minimal --messages 10 --topology star:4 --json
says '"delivered_messages": 40' out

expect 0 ctp_minimal --messages 10 --link "delay 5ms" --deadline 5ms --json
says '"late_messages": 0' out
expect 0 ctp_minimal --messages 10 --link "delay 5ms" --deadline 4ms --json
says '"late_messages": 10' out

# Small messages do not tell their number, but their bytes are checked.
expect 0 ctp_minimal --messages 10 --size 9B
says 'bytes verified *yes' out
# A config without a checksum lets flipped bits through: seen, and an error.
expect 1 ctp_minimal --messages 100 --link "corrupt 100%"
says 'bytes verified *NO' out

# Where losses in a row double the timeout to a minute and more, nobody is blamed for the wait.
cat >"$work/slow.conf" <<-END
	transport_driver {}
	virtual_circuit {}
	resize {}
	sequenced_segments {}
	positive_ack {}
	retransmission_timer {}
	retransmit {}
	duplicate_ack {}
	windowed_cc {}
	tcp_congestion {}
	reliable_fifo {}
END
for seed in 15 113 137; do
	expect 0 "$work/slow.conf" --link "rate 100mbit delay 25ms loss 10%" --bytes 5MB \
		--duration 1h --seed $seed
done

# A message that was not sent, or did not come, is not called well.
expect 2 ctp_minimal --messages 0
expect 0 bulk --duration 1ms
says 'bytes verified *none came' out
expect 0 bulk --duration 1ms --json
says '"verified": false' out
expect 0 ctp_minimal --messages 3 --link ""
says 'goodput *without bound' out
expect 0 ctp_minimal --messages 3 --link "" --json
says '"goodput_bps": null' out
# Two must have what one alone is there for.
expect 1 one_to_many_quorum --messages 3 --json
says '"complete": false' out
expect 0 one_to_many_all --messages 3 --json
expect 0 one_to_many_all --bytes 4MB --json
says '"complete": true' out

# Promises, and whether they were kept.
expect 0 bulk --messages 20 --json
says '"judged": {' out
says '"verdict": "held"' out
grep -q '"verdict": "broken"' "$work/out" && bad "bulk breaks a promise"
expect 0 bulk --messages 20 --watch
[ -s "$work/err" ] && bad "said of a good run: $(cat "$work/err")"
# A dead microprotocol is not blamed for it, but one that waits for it is named.
expect 1 bulk --bytes 2MB --link "rate 10mbit delay 10ms down 300ms 1000000s"
says '^nopal: held: .* for retransmit: the peer has it' err
grep -q 'broken:\|blamed:' "$work/err" && bad "$(cat "$work/err")"

# In a group each destination is seen when it ends.
expect 1 one_to_many_all --bytes 2MB --link "rate 10mbit delay 10ms down 300ms 1000000s"
says '^nopal: held: .* for retransmit: the peer has it' err

# Properties: each kind of messages is held to its own promise.
expect 0 ctp_mixed --messages 200 --size 1kB --interval 2ms --link "rate 5mbit delay 25ms loss 5%" \
	--with "deadline=40ms every 5" --with "out_of_band=on,urgent=on every 7"
says 'messages without properties: 137 sent, 137 delivered' out
says 'messages with deadline: 35 sent, [1-9][0-9]* delivered' out
says 'messages with deadline|out_of_band|urgent: 5 sent' out
expect 0 ctp_mixed --messages 200 --link "loss 5%" --with "deadline=1ms" --json
says '"properties": "deadline"' out
# An order between some messages is judged, too.
printf 'extends = "bulk_cubic"\nwithout = { reliable_fifo }\nsemantic_order {}\n' >"$work/named.conf"
expect 0 "$work/named.conf" --messages 300 --size 800B --link "$noisy" \
	--with "label=index,after=index-3" --json
says '"promised": "after predecessors"' out
expect 2 ctp_mixed --with "deadlin=1s"
says 'urgent, deadline, attempts, out_of_band' err
expect 2 ctp_mixed --with "deadline=200"

# A group: a row for each destination, behind a link of its own.
small="rate 10mbit delay 5ms loss 1%"
expect 0 one_to_many_all --destinations 3 --bytes 60kB --link "$small" --link "delay 40ms"
says 'destination 3 *well, 60000 bytes' out
says 'messages delivered *3$' out
expect 0 one_to_many_quorum --destinations 3 --messages 3 --size 1kB --link "$small" --json
says '"complete": true' out
[ "$(grep -c '"destination": ' "$work/out")" = 3 ] || bad "not three destinations"
# One of them may be out of reach where one is enough, and not where all have to have it.
dead="down 0s 1000000s"
expect 0 one_to_many_any --destinations 2 --bytes 60kB --link "$small" --link "$dead"
expect 1 one_to_many_all --destinations 2 --bytes 60kB --link "$small" --link "$dead"
expect 0 one_to_many_balance --destinations 2 --messages 20 --size 1kB --link "$small"
says 'messages delivered *20$' out
expect 0 one_to_many_all --destinations 3 --messages 30 --size 1kB --with "destination=index%3+1"
says 'destination 2 *well, 10000 bytes' out

# Streams, also above destinations.
for conf in streams udt4_shared; do
	expect 0 $conf --streams 3 --bytes 60kB --link "$small" --json
	[ "$(grep -c '"delivered_bytes": 60000' "$work/out")" = 3 ] || bad "$conf: not three streams"
done
cat >"$work/both.conf" <<'EOF'
layer "stream" { multiplicity = per_stream
  transport_driver {} whole_messages {} stream_end {} }
layer "group" { transport_driver {} whole_messages {} fan_out {} }
layer "destination" { multiplicity = per_destination
  transport_driver {} virtual_circuit {} keep_alive {} resize {} sequenced_segments {}
  positive_ack {} retransmission_timer {} duplicate_ack {} rtt_estimation {} retransmit {}
  reliable_fifo {} checksum {} }
EOF
expect 0 "$work/both.conf" --streams 2 --destinations 3 --messages 20 --size 1kB --link "$small"
[ "$(grep -c 'destination [123] *well, 20000 bytes' "$work/out")" = 6 ] || bad "not six receivers"

# Several configs on one link, each with its own messages.
mixture() {
	expect 0 bulk "ctp_audio --messages 50 --interval 20ms --size 160B --deadline 200ms --start 1s" \
		"bulk_cubic --with 'urgent=on every 2'" --bytes 200kB --link "rate 10mbit delay 15ms"
}
mixture
says 'session 1 ctp_audio *well.* 8000 bytes' out
says 'session 2 bulk_cubic *well.* 200000 bytes' out
says 'of bulk_cubic with urgent: 2 sent, 2 delivered' out
mv "$work/out" "$work/first"
mixture
cmp -s "$work/out" "$work/first" || bad "one seed gave two mixtures"
expect 2 bulk udt4 --watch
expect 0 bulk udt4 --topology direct --bytes 60kB --json
[ "$(grep -c '      "delivered_bytes": 60000' "$work/out")" = 2 ] || bad "not two sessions on one link"
expect 2 bulk --destinations 2
expect 2 bulk --streams 2
expect 2 bulk udt4 --destinations 2
expect 2 bulk "udt4 --link x"
says 'there is no option --link' err
expect 2 bulk udt4 --topology dumbbell:1
expect 2 streams --streams 2 --size 9B

# Several seeds: a table, and the exit code of the worst run.
expect 0 ctp_minimal --messages 200 --interval 1ms --link "$noisy" --seeds 1..5 --deadline 11ms,12ms
says 'seeds 1..5: 5 of 5 runs were good' out
says 'late, 11 ms  *[0-9.]* %' out
says 'late, 12 ms  *[0-9.]* %' out
expect 0 ctp_minimal --messages 200 --interval 1ms --link "$noisy" --seeds 3..4 --json
says '"schema": "nopal.sim.seeds"' out
sed -n '/trace_hashes/,/]/p' "$work/out" >"$work/hashes"
expect 0 ctp_minimal --messages 200 --interval 1ms --link "$noisy" --seed 4 --json
hash=$(sed -n 's/.*"trace_hash": "\(.*\)".*/\1/p' "$work/out")
grep -q "$hash" "$work/hashes" || bad "a run of a series is not the run of its seed"
# Flipped bits come through with some of the seeds.
expect 1 ctp_minimal --messages 3 --link "corrupt 20%" --seeds 1..9
says 'so it was with seed ' err
says 'seeds 1..9: [1-8] of 9 runs were good' out
expect 0 ctp_minimal --messages 10 --link "delay 5ms" --deadline 4ms,5ms --json
says '"late_messages": 10' out
says '"late_messages": 0' out
expect 2 ctp_minimal --seeds 5
expect 2 ctp_minimal --seeds 5..4
expect 2 ctp_minimal --seeds 1..2 --seed 1
expect 2 ctp_minimal --deadline 1ms,2

expect 2 no_such_config
expect 2 ctp_minimal --link "delay 10"
says 'fix: ' err
expect 2 ctp_minimal --topology ring:3
expect 2 ctp_minimal --bytes 1kB --messages 3
expect 2 ctp_minimal --size 1MB
says 'ctp_minimal\|messages from 1 to' err
expect 2 ctp_minimal --trace-detail all
expect 3 ctp_minimal --messages 1 --trace "$work/none/trace"
exit $failed
