#!/bin/sh
# SPDX-License-Identifier: MIT
# rendezvous_firewall.sh PROGRAM -- two namespaces, each behind a firewall that lets in what
# answers something and nothing else: a plain opening does not get through, in neither
# direction, and two that open towards each other do.  Skipped without root or nft.
set -u
nopal=$1
[ "$(id -u)" = 0 ] && command -v nft >/dev/null && command -v ip >/dev/null || {
	echo "needs root, nftables and iproute2"
	exit 77
}
work=$(mktemp -d) || exit 77
a=nopal-meet-a-$$ b=nopal-meet-b-$$
pids=
stop() {
	for process in $pids; do
		kill "$process" 2>/dev/null
	done
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
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
{ ip netns add $a && ip netns add $b &&
	ip -n $a link add veth0 type veth peer name veth0 netns $b &&
	ip -n $a addr add 10.77.0.1/24 dev veth0 && ip -n $a link set veth0 up &&
	ip -n $b addr add 10.77.0.2/24 dev veth0 && ip -n $b link set veth0 up
} 2>"$work/ip.err" || cannot "join two network namespaces"
for space in $a $b; do
	ip netns exec $space nft -f - 2>"$work/nft.err" <<-RULES || cannot "filter by state"
		table inet fence {
			chain in {
				type filter hook input priority 0; policy drop;
				ct state established,related accept
				icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
			}
		}
	RULES
done
# nopal_in SPACE WORDS...: in a shell of its own.
nopal_in() {
	space=$1
	shift
	exec timeout 60 ip netns exec "$space" "$nopal" "$@"
}

head -c 3000000 /dev/urandom >"$work/file" || exit 77

# A listener behind its firewall hears nothing.
nopal_in $b recv -o "$work/in" --listen 10.77.0.2:9000 2>"$work/listen.err" &
listener=$!
pids="$pids $listener"
sleep 0.5
(nopal_in $a send "$work/file" 10.77.0.2:9000 --set \
	virtual_circuit.attempts=4) 2>"$work/plain.err" && fail "a plain opening got through the firewall"
grep -q 'no answer to the request' "$work/plain.err" ||
	fail "a plain opening ended for another reason"
kill $listener
wait $listener 2>/dev/null
[ -e "$work/in/file" ] && fail "the file is there"

# Whoever comes first.
receive() {
	nopal_in $b recv -o "$work/in" --listen 10.77.0.2:9000 \
		--rendezvous 10.77.0.1:9001 2>"$work/recv.err" &
	receiver=$!
}
send() {
	nopal_in $a send "$work/file" 10.77.0.2:9000 --rendezvous 9001 \
		2>"$work/send.err" &
	sender=$!
}
for first in send receive; do
	rm -f "$work/in/file"
	$first
	sleep 1
	[ $first = send ] && receive || send
	pids="$pids $sender $receiver"
	wait $sender || fail "$first first: send ended with $?"
	wait $receiver || fail "$first first: recv ended with $?"
	cmp "$work/file" "$work/in/file" || fail "$first first: the files differ"
done
dropped=$(ip netns exec $a nft list ruleset | grep -c 'policy drop')
[ "$dropped" = 1 ] || fail "there was no firewall"
echo "well"
