#!/bin/sh
# SPDX-License-Identifier: MIT
# odd_configs.sh -- files by compositions of one's own: without a handshake, where
# nothing tells the begin and the end of a session; and without an order.
#
#   odd_configs.sh PROGRAM      (or $NOPAL; exit 77: it cannot run here)
. "$(dirname "$0")/many.sh"
cat >"$work/open.conf" <<'END'
description = "bulk without a handshake"
extends = "bulk"
without = { virtual_circuit, migration, keep_alive }
END
cat >"$work/open_many.conf" <<'END'
description = "one to many without a handshake"
layer "group" {
  transport_driver {}
  whole_messages   {}
  fan_out          {}
}
layer "destination" {
  multiplicity = per_destination
  transport_driver   {}
  resize             {}
  sequenced_segments {}
  positive_ack       { selective = on }
  retransmission_timer {}
  duplicate_ack      {}
  rtt_estimation     { timeout_min = 50ms }
  retransmit         {}
  windowed_flow      { buffer = 16MiB }
  windowed_cc        {}
  rate_cc            {}
  bbr_congestion     {}
  reliable_fifo      {}
  checksum           {}
}
END
cat >"$work/loose.conf" <<'END'
description = "bulk without an order"
extends = "bulk"
without = { reliable_fifo }
END
cat >"$work/loose_open.conf" <<'END'
description = "bulk without a handshake and without an order"
extends = "bulk"
without = { virtual_circuit, migration, keep_alive, reliable_fifo }
END
head -c 3000000 /dev/urandom >"$work/file" || exit 77
ends_well() {
	for i in "$@"; do
		eval "wait \$pid_$i" || fail "receiver $i ended badly"
	done
}

# ---- without a handshake: a file comes, and both know when it is over
receivers 1 "$work/open.conf" --once
send 0 "$work/file" $to -c "$work/open.conf"
same 1
ends_well 1
says 'note: open has no handshake' "$work/recv1.log" || fail "that is not said"
receivers 2 "$work/open_many.conf" --once
send 0 "$work/file" $to -c "$work/open_many.conf"
same 1 2
ends_well 1 2

# ---- nobody is there, of one or of several: told, and what to do
receivers 1 "$work/open_many.conf" --once
"$nopal" send "$work/file" 127.0.0.1:9 -c "$work/open.conf" 2>"$work/alone.log" &
alone=$!
pids="$pids $alone"
send 1 "$work/file" 127.0.0.1:9 $to -c "$work/open_many.conf"
same 1
ends_well 1
row 1 complete
says '^  127.0.0.1:9  *no answer .*no answer to the offer; fix: start' "$work/send.log" ||
	fail "of several: not told who is not there"
wait $alone && fail "nobody took the file"
says 'no answer to the offer' "$work/alone.log" || fail "not told that nobody is there"
says '^  fix: start' "$work/alone.log" || fail "not told what to do"

# ---- a listener with another composition refuses it at once
receivers 1 bulk
send 1 "$work/file" $to -c "$work/open.conf"
says 'does not run this composition$' "$work/send.log" || fail "a refusal was not told"
says '^  fix: give both sides' "$work/send.log" || fail "of a refusal: not told what to do"

# ---- cut short without a handshake: it goes on where it was
head -c 20000000 /dev/urandom >"$work/file"
receivers 1 "$work/open.conf"
saved() {
	[ "$(sed -n 's/^nopal-part 1 [0-9a-f]* [0-9]* \([0-9]*\) [0-9a-f]*$/\1/p' \
		"$work/1/.file.nopal-state" 2>/dev/null || echo 0)" -ge "$1" ] 2>/dev/null
}
"$nopal" send "$work/file" $to -c "$work/open.conf" --rate 80Mbit 2>"$work/cut.log" &
sender=$!
until_true 1500 saved 4000000 || fail "nothing came"
kill -9 $sender
wait $sender 2>/dev/null
send 0 "$work/file" $to -c "$work/open.conf"
same 1
says 'resumed at' "$work/send.log" || fail "it began anew"

# ---- without an order, over a path that loses: DATA overtake START, and END
for kind in loose loose_open; do
	receivers 1 "$work/$kind.conf"
	at relay
	"$nopal" link "delay 1ms loss 10%" --relay "$address" "$to_1" 2>"$work/link.log" &
	pids="$pids $!"
	until_true 500 says 'relay at' "$work/link.log" || fail "no relay"
	for i in 1 2 3 4 5 6 7 8; do
		head -c $((i * 100000)) /dev/urandom >"$work/$kind$i"
	done
	send 0 "$work/$kind"[1-8] "$address" -c "$work/$kind.conf"
	for i in 1 2 3 4 5 6 7 8; do
		cmp "$work/$kind$i" "$work/1/$kind$i" || fail "$kind: file $i differs"
	done
done
stop
echo "well"
