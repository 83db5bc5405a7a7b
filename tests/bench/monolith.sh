#!/bin/sh
# SPDX-License-Identifier: MIT
#
# monolith MONOLITH NOPAL -- the hand-written transport is a true control: it
# speaks to the composed one in both directions, on real UDP and through a relay
# that loses and reorders, with and without checksum; and it is whole by itself
# under loss, reordering, duplication and damage.  Every byte is compared.
set -eu
monolith=$1
nopal=$2
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

fault() {
	echo "$*"
	cat "$folder"/*.json "$folder"/*.log 2>/dev/null || true
	exit 1
}

cat >"$folder/bare.conf" <<-END
	description = "without checksum"
	extends = "bulk_cubic"
	without = { checksum }
END

# It has one address and one length of datagrams.
cat >"$folder/path.conf" <<-END
	description = "bulk on a path that stays what it is"
	extends = "bulk"
	without = { migration, mtu_discovery }
END

# The monolith's buffers follow nothing.
cat >"$folder/fixed.conf" <<-END
	description = "with fixed buffers"
	extends = "bulk_cubic"
	without = { buffer_sizing }
	send_buffer = 4MiB
	windowed_flow { buffer = 16MiB  automatic = off }
END

# ------------------------------------------------------------------- simulated

simulated() {
	"$monolith" sim "$bytes" --check --seed "$seed" --link "$link" "$@" \
		>"$folder/sim.json" || fault "sim $link: $*"
}

bytes=1000000
seed=0
for link in "rate 100mbit delay 10ms limit 100" \
	"rate 100mbit delay 5ms 1ms loss 3% duplicate 3% corrupt 2%" \
	"delay 5ms reorder 5% gap 5 loss 2%" "rate 20mbit delay 2ms loss 15%"; do
	for cores in "monolith monolith" "monolith composed" "composed monolith"; do
		seed=$((seed + 1))
		set -- --core "${cores% *}" --to "${cores#* }"
		simulated "$@"
		case $link in
		*corrupt*) ;;
		*) simulated "$@" --config "$folder/bare.conf" ;;
		esac
	done
done
link="rate 100mbit delay 5ms loss 2%"
simulated --core composed --to monolith --config "$folder/path.conf"
simulated --core monolith --to composed --config "$folder/path.conf"
grep -q '"resends":[1-9]' "$folder/sim.json" || fault "nothing was resent"

# The same work is compared: as many datagrams, as many acks.
link="rate 1gbit delay 1ms"
simulated --core composed --config "$folder/fixed.conf"
sed 's/.*"sender"//' "$folder/sim.json" >"$folder/composed.json"
simulated --core monolith --config "$folder/fixed.conf"
sed 's/.*"sender"//' "$folder/sim.json" | cmp - "$folder/composed.json" ||
	fault "the two do not do the same work"

# ------------------------------------------------------------------------ live

# crossing FROM TO PORT-OF-SENDER BYTES
crossing() {
	"$monolith" recv "127.0.0.1:$port" --core "$2" --check --bytes "$4" \
		>"$folder/recv.json" 2>"$folder/recv.log" &
	receiver=$!
	pids="$pids $receiver"
	timeout 60 "$monolith" send "127.0.0.1:$3" 0 --core "$1" --bytes "$4" \
		>"$folder/send.json" 2>"$folder/send.log" ||
		fault "$1 to $2: the sender failed"
	wait "$receiver" || fault "$1 to $2: the receiver failed"
}

crossing monolith composed "$port" 20000000
crossing composed monolith "$port" 20000000
crossing monolith monolith "$port" 20000000

"$nopal" link "delay 2ms 1ms loss 2% reorder 5% gap 5" \
	--relay "127.0.0.1:$((port + 1))" "127.0.0.1:$port" \
	>"$folder/link.log" 2>&1 &
pids="$pids $!"
crossing monolith composed $((port + 1)) 2000000
crossing composed monolith $((port + 1)) 2000000
