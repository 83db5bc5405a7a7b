#!/bin/sh
# SPDX-License-Identifier: MIT
# tun.sh PROGRAM -- tools/two-hosts joins two namespaces by `nopal link --tun`: a file
# crosses it, exit codes and reports come back, wrong words are answered, and
# nothing stays behind.  Skipped without root or TUN devices.
set -eu
nopal=$1
NOPAL=$nopal
export NOPAL
[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] && command -v ip >/dev/null || {
	echo "needs root, /dev/net/tun and iproute2"
	exit 77
}
folder=$(mktemp -d)
space=nopal-test-$$
link=
stop() {
	[ -z "$link" ] || kill "$link" 2>/dev/null || true
	ip netns del $space 2>/dev/null || true
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
wrong() {
	echo "FAILED: $*"
	cat "$folder"/said* 2>/dev/null
	exit 1
}
{ ip netns add $space && ip netns exec $space true; } 2>/dev/null || {
	echo "cannot make network namespaces and run something in them"
	exit 77
}
lab() {
	timeout 90 tools/two-hosts "$@"
}
# refuses CODE WORDS...: with a cause and a fix.
refuses() {
	wanted=$1
	shift
	timeout 10 "$nopal" link "$@" >/dev/null 2>"$folder/said" && code=0 || code=$?
	[ $code -eq "$wanted" ] || wrong "exit code $code, not $wanted: $*"
	grep -q '^  fix: ' "$folder/said" || wrong "no fix: $*"
}
number() {
	sed -n 's/^ *"'"$1"'": \([0-9]*\).*/\1/p' "$folder/report" | head -1
}

# ------------------------------------------------ a file, by way of the lab
head -c 300000 /dev/urandom >"$folder/file"
mkdir "$folder/in"
lab --report "$folder/report" "delay 3ms loss 2% rate 50mbit" \
	"$nopal send $folder/file \$PEER:9000 -c bulk" \
	"$nopal recv -c bulk -o $folder/in --listen \$HERE:9000" \
	>"$folder/said" 2>&1 || wrong "the lab's transfer"
cmp "$folder/file" "$folder/in/file"
grep -q '"schema": "nopal.link"' "$folder/report" || wrong "no report"
[ "$(number delivered_bytes)" -gt 300000 ] || wrong "less than the file crossed"
[ "$(number lost_datagrams)" -gt 0 ] || wrong "nothing was lost"
[ "$(number late_peak_ns)" -gt 0 ] || wrong "never late: that is not measured"
[ "$(number missed_datagrams)" = 0 ] || echo "this machine is busy"

# -------------------------- a path that takes less than its devices say: a hole
cat >"$folder/seeks.conf" <<'END'
extends = "bulk"
mtu_discovery {}
END
mkdir "$folder/through"
lab --report "$folder/report" "delay 3ms rate 50mbit mtu 1300" \
	"$nopal send $folder/file \$PEER:9000 -c $folder/seeks.conf" \
	"$nopal recv -c $folder/seeks.conf -o $folder/through --listen \$HERE:9000" \
	>"$folder/said" 2>&1 || wrong "a transfer through a hole"
cmp "$folder/file" "$folder/through/file"
[ "$(number too_big_datagrams)" -gt 0 ] || wrong "nothing was tried"
[ "$(number too_big_datagrams)" -lt 10 ] || wrong "data fell into the hole"

# --------------------------------------------- exit codes, and what is printed
lab "delay 1ms" 'exit 5' 2>"$folder/said" && code=0 || code=$?
[ $code -eq 5 ] || wrong "exit code $code, not that of A"
grep -q '^forward: 0 entered' "$folder/said" || wrong "no report of the link"
lab --wait "delay 1ms" true "sleep 1; echo well >$folder/waited" 2>"$folder/said"
[ -s "$folder/waited" ] || wrong "B was not waited for"
if command -v ping >/dev/null; then
	lab "delay 40ms" 'ping -q -c 3 -i 0.05 $PEER' >"$folder/said" 2>&1 ||
		wrong "no ping"
	grep -q '3 received' "$folder/said" || wrong "not all pings came back"
	least=$(sed -n 's|^rtt min/[^=]* = \([0-9]*\).*|\1|p' "$folder/said")
	[ "$least" -ge 80 ] || wrong "a round trip of $least ms"
fi
lab "delay 1 ms" true 2>"$folder/said" && code=0 || code=$?
[ $code -eq 2 ] || wrong "exit code $code for wrong words"

# ------------------------------------------------------ SIGTERM, and no leavings
"$nopal" link "delay 1ms" --tun nta,ntb --netns $space,$space --json \
	>"$folder/report" 2>"$folder/said" &
link=$!
tries=0
until grep -q '^link between nta and ntb' "$folder/said"; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || wrong "no link"
	sleep 0.05
done
ip -n $space link show dev nta | grep -q UP || wrong "the device is not up"
refuses 3 "delay 1ms" --tun nta,ntc --netns $space,$space
kill -TERM $link
wait $link || wrong "no good end by SIGTERM"
link=
grep -q '"missed_datagrams": 0' "$folder/report" || wrong "no counters"
for device in nta ntb ntc; do
	! ip -n $space link show dev $device 2>/dev/null || wrong "$device stays"
done
lab=$(lab "delay 1ms" 'ip netns identify $$' 2>"$folder/said")
[ -n "$lab" ] || wrong "no namespace in a lab"
! ip netns list | grep -q "^$lab" || wrong "$lab stays"

# ------------------------------------------------------------- wrong words
refuses 2 "delay 1 ms" --tun nta,ntb
refuses 2 "delay 1ms" --tun nta
refuses 2 "delay 1ms" --tun nta,ntb,ntc
refuses 2 "delay 1ms" --tun ,ntb
refuses 2 "delay 1ms" --tun nta,ntb --netns $space
refuses 2 "delay 1ms" --tun nta,ntb --relay 127.0.0.1:9 127.0.0.1:8
refuses 2 "delay 1ms" --tun nta,ntb 127.0.0.1:9
refuses 2 "delay 1ms" --relay 127.0.0.1:9
refuses 2 "delay 1ms" --netns $space,$space
refuses 3 "delay 1ms" --tun nta,ntb --netns $space,$space-none
refuses 3 "delay 1ms" --tun a-name-that-is-too-long,ntb --netns $space,$space
. "$(dirname "$0")/nobody.sh"
if nobody_copy; then
	as_nobody link "delay 1ms" --tun nta,ntb 2>"$folder/said" &&
		code=0 || code=$?
	[ $code -eq 3 ] || wrong "exit code $code without root"
	grep -q 'fix: .*root' "$folder/said" || wrong "no word of root"
fi
echo "well"
