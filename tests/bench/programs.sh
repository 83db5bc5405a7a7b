#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# programs NOPAL DIRECTORY -- each program of the bulk benchmark that was built
# delivers what was sent, over the loopback; `nopal bench` runs a round where
# namespaces can be made, leaves none behind, and says what is wrong otherwise.
set -u
nopal=$1 directory=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
port=$((20000 + ($$ * 7) % 20000))
fault() { echo "$*"; failures=$((failures + 1)); }

value() { sed -n 's/.*"'"$1"'":\([0-9]*\).*/\1/p'; }

flow() { # PROGRAM ROW
	[ -x "$directory/$1" ] || { echo "$2: not built"; return; }
	port=$((port + 1))
	exec 3< <(exec timeout 20 "$directory/$1" recv "127.0.0.1:$port" 0.1 "$2")
	read -r -t 10 -u 3 ready || { fault "$2: the receiver did not start"; return; }
	timeout 20 "$directory/$1" send "127.0.0.1:$port" 0.1 "$2" >"$folder/send" ||
		fault "$2: the sender failed"
	read -r -t 20 -u 3 report || report=
	exec 3<&-
	[ "$(echo "$report" | value delivered_bytes)" -gt 0 ] 2>/dev/null ||
		fault "$2: nothing was delivered: $report"
	[ "$(echo "$report" | value wrong_bytes)" = 0 ] ||
		fault "$2: wrong bytes were delivered: $report"
	echo "$2: $report"
}

flow flood_raw raw
flow flood_raw raw-sg
flow flood_raw raw-hot
flow flood_raw raw-plain
flow flood_raw raw-single
flow flood_tcp tcp
flow flood_nopal bulk
flow flood_nopal ctp_minimal
FLOOD_BODY=1400 NOPAL_FUSED=off flow flood_nopal bulk
NOPAL_CONFIGS=$directory flow flood_monolith monolith
NOPAL_CONFIGS=$directory flow flood_monolith monolith_unsummed
flow peer_enet enet
flow peer_srt srt
flow peer_usrsctp usrsctp
flow peer_udt udt

# several connections at once
export FLOOD_CONNECTIONS=20
flow flood_tcp tcp
flow flood_nopal udt4
flow flood_nopal udt4_shared
flow peer_udt udt
unset FLOOD_CONNECTIONS

NOPAL_BENCH_DIR=/nonexistent "$nopal" bench bulk 2>"$folder/err"
[ $? = 3 ] && grep -q 'fix:' "$folder/err" || fault "no word about missing programs"
"$nopal" bench nonsense 2>"$folder/err"
[ $? = 2 ] && grep -q 'bulk' "$folder/err" || fault "no word about measurements"

"$nopal" bench bulk --rounds 1 --seconds 0.2 --rows raw,tcp,bulk --paths W \
	--json "$folder/json" >"$folder/out" 2>"$folder/err"
case $? in
0)
	grep -q 'class crc' "$folder/out" || fault "no table: $(cat "$folder/out")"
	grep -q '"schema": "nopal.report"' "$folder/json" || fault "no document"
	;;
77) echo "no namespaces here: $(tail -1 "$folder/err")" ;;
*) fault "nopal bench: $(cat "$folder/err")" ;;
esac
[ $failures = 0 ]
