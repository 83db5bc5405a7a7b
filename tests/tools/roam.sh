#!/bin/sh
# SPDX-License-Identifier: MIT
# roam.sh PROGRAM -- two hosts with a router between them, each in a namespace.  In the
# middle of a transfer with `bulk` as shipped the path's MTU shrinks, said by the router
# or not, and the router's NAT gives the sender another address: the file arrives, byte
# by byte.  A receiver that was killed and started again, or that is gone, is known of
# long before the session's own patience ends.  Skipped without root or nft.
set -u
nopal=$1
[ "$(id -u)" = 0 ] && command -v nft >/dev/null && command -v ip >/dev/null || {
	echo "needs root, nftables and iproute2"
	exit 77
}
work=$(mktemp -d) || exit 77
a=nopal-roam-a-$$ r=nopal-roam-r-$$ b=nopal-roam-b-$$
pids=
stop() {
	for process in $pids; do
		kill "$process" 2>/dev/null
	done
	for space in $a $r $b; do
		ip netns del $space 2>/dev/null
	done
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	tail -n 5 "$work"/*.err
	exit 1
}
cannot() {
	echo "cannot $*"
	exit 77
}
{ ip netns add $a && ip netns add $r && ip netns add $b &&
	ip -n $a link add in type veth peer name in netns $r &&
	ip -n $r link add out type veth peer name out netns $b &&
	ip -n $a addr add 10.78.1.1/24 dev in && ip -n $r addr add 10.78.1.2/24 dev in &&
	ip -n $r addr add 10.78.2.1/24 dev out && ip -n $b addr add 10.78.2.2/24 dev out &&
	ip -n $a link set in up && ip -n $r link set in up &&
	ip -n $r link set out up && ip -n $b link set out up &&
	ip -n $a route add default via 10.78.1.2 && ip -n $b route add default via 10.78.2.1 &&
	ip netns exec $r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
} 2>"$work/ip.err" || cannot "join three network namespaces"
rules() {
	ip netns exec $r nft -f - 2>"$work/nft.err"
}
rules <<-RULES || cannot "translate addresses"
	table ip nat {
		chain post {
			type nat hook postrouting priority 100;
			oifname out masquerade random
		}
	}
RULES
until_true() { # TENTHS COMMAND...
	left=$1
	shift
	until "$@"; do
		[ $((left -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}
listens() { grep -q '^listening on' "$work/recv.err"; }
receiver_start() { # WORDS...
	: >"$work/recv.err"
	exec_in $b recv -o "$work/in" --listen 10.78.2.2:9000 "$@" 2>"$work/recv.err" &
	receiver=$!
	pids="$pids $receiver"
	until_true 50 listens || fail "the receiver does not listen"
}
exec_in() { # SPACE WORDS...
	space=$1
	shift
	exec timeout 60 ip netns exec "$space" "$nopal" "$@"
}
came() { # BYTES
	[ "$(stat -c %s "$work/in/.file.nopal-part" 2>/dev/null || echo 0)" -gt "$1" ]
}
sender_start() {
	rm -f "$work/in/file" "$work/in/.file.nopal-part"
	exec_in $a send "$work/file" 10.78.2.2:9000 --rate 40mbit 2>"$work/send.err" &
	sender=$!
	pids="$pids $sender"
	until_true 100 came 2000000 || fail "nothing comes: $1"
}
arrives() {
	wait $sender || fail "$1: $(cat "$work/send.err")"
	cmp "$work/file" "$work/in/file" || fail "$1: other bytes"
}
head -c 12000000 /dev/urandom >"$work/file" || exit 77

# ------------------------------------------------------- another address, and length
receiver_start
sender_start "before the NAT changes"
ip -n $r addr del 10.78.2.1/24 dev out && ip -n $r addr add 10.78.2.9/24 dev out &&
	ip -n $b route replace default via 10.78.2.9 || fail "no other address"
arrives "another address"

sender_start "before the MTU shrinks"
ip -n $r link set out mtu 1400 && ip -n $b link set out mtu 1400
arrives "a router that says how short its way is"

rules <<-RULES || cannot "keep ICMP back"
	table ip silent {
		chain out {
			type filter hook output priority 0;
			icmp type destination-unreachable drop
		}
	}
RULES
sender_start "before the MTU shrinks in silence"
ip -n $r link set out mtu 1280 && ip -n $b link set out mtu 1280
arrives "a router that says nothing"

# --------------------------------------------------------------- killed, and started
# knows WHAT TEXT: the sender fails, and the reason is not its own patience.
knows() {
	since=$(date +%s%N)
	wait $sender && fail "$1: a good end"
	echo "$1: known after $((($(date +%s%N) - since) / 1000000)) ms"
	grep -q "$2" "$work/send.err" || fail "$1: $(cat "$work/send.err")"
}
receiver_kill() {
	for process in $(pgrep -P "$receiver"); do
		kill -9 "$process"
	done
	wait "$receiver" 2>/dev/null
}

sender_start "before the receiver is killed"
receiver_kill
receiver_start
knows "restarted, its key kept" 'it was restarted'

sender_start "before the receiver is killed again"
receiver_kill
rm "$work/in/.nopal-reset-key"
receiver_start
knows "restarted, its key lost" 'it was restarted'

sender_start "before the receiver goes"
receiver_kill
knows "gone, and its host says so" "the peer's port is closed"
