#!/bin/sh
# SPDX-License-Identifier: MIT
# multicast_hosts.sh -- one file to several hosts of one network by multicast: how much
# leaves the sender, with losses, with a receiver killed, with one that hears nothing,
# to 32, and by IPv6.
#
#   multicast_hosts.sh PROGRAM  (or $NOPAL; exit 77: it cannot run here)
#
# Times are printed, and not judged; bytes are.
. "$(dirname "$0")/many.sh"
. "$(dirname "$0")/star.sh"
many=32
size=12000000
nothing='ip protocol 254'
away() { star_close; }
star_open $many && star_lan || {
	echo "cannot make network namespaces and run something in them: skipped"
	exit 77
}
here=$star_here
# those of $by_ipv6 by IPv6
by_ipv6=
at() {
	case " $by_ipv6 " in
	*" $1 "*) address=[$(star_lan_address6 "$1")]:9000 ;;
	*) address=$(star_lan_address "$1"):9000 ;;
	esac
}
on() { star_on "$@"; }
print() {
	echo "---- $*"
	cat "$work/send.log"
}
left() { $star_here cat /sys/class/net/lan/statistics/tx_bytes; }
# sent PERCENT MOST COMMAND...: it sends no more of the file than that, in bytes that leave.
sent() {
	most=$1 before=$(left)
	shift
	"$@"
	share=$((($(left) - before) * 100 / size))
	echo "$share % of the file left, at most $most"
	[ $share -le "$most" ] || fail "$share % of the file left"
}
# Such datagrams are lost as they arrive at a host.
lose() { # HOST WHAT
	(star_on "$1" nft -f -) <<-RULES
		table ip loss
		delete table ip loss
		table ip loss {
			chain in {
				type filter hook input priority 0;
				$2 drop
			}
		}
	RULES
}

# ---- once for all of them, and an eighth for parity
head -c $size /dev/urandom >"$work/file" || exit 77
receivers 3 multicast
sent 150 send 0 "$work/file" $to -c multicast
print "three"
same 1 2 3
for i in 1 2 3; do row $i complete; done

# ---- each loses 2 %, others than the others do
if command -v nft >/dev/null && lose 1 "$nothing"; then
	for i in 1 2 3; do lose $i 'ip protocol udp numgen random mod 100 < 2'; done
	receivers 3 multicast
	sent 200 send 0 "$work/file" $to -c multicast
	print "three that lose 2 %"
	same 1 2 3

	# ---- one does not hear the address: it gets copies of its own
	for i in 1 2; do lose $i "$nothing"; done
	lose 3 'ip daddr 224.0.0.0/4'
	receivers 3 multicast
	sent 300 send 0 "$work/file" $to -c multicast
	print "one of three does not hear"
	same 1 2 3
	lose 3 "$nothing"
fi

# ---- one is killed in the middle: it is gone after 8 s of silence
lives() { echo 1 2 3 | tr -d "$it"; }
receivers 3 multicast
send_and_kill 1 "1 2 3" $to -c multicast
print "receiver $it killed: stated: gone after 8 s of silence"
same $(lives)
receivers 3 multicast
send_and_kill 0 "1 2 3" $to -c multicast --set fan_out.acks=2
print "two are enough, receiver $it killed"
same $(lives)

# ---- by IPv6, at an address of the site, of the link, and of the link with interfaces
# of each host named
group() { # OURS [THEIRS]
	ours="--set multicast.group=[$1]:9010" theirs="--set multicast.group=[${2:-$1}]:9010"
}
if star_lan6; then
	by_ipv6="1 2 3"
	for group in ff15::4242 ff02::4242 'ff02::4242%lan ff02::4242%cable'; do
		group $group
		receivers 3 multicast $theirs
		sent 150 send 0 "$work/file" $to -c multicast $ours
		print "three by IPv6, $group"
		same 1 2 3
	done
	group 'ff02::4242%nosuch'
	send 2 "$work/file" $to -c multicast $ours
	says 'no such interface' "$work/send.log" || fail "it sends at no interface"

	# ---- one of them by IPv4, and then it is the address: the others get copies
	by_ipv6="2 3"
	group ff15::4242
	receivers 3 multicast $theirs
	sent 260 send 0 "$work/file" $to -c multicast $ours
	print "one of three by IPv4"
	same 1 2 3
	by_ipv6="1"
	receivers 3 multicast
	sent 260 send 0 "$work/file" $to -c multicast
	print "one of three by IPv6"
	same 1 2 3
	says '^note:' "$work/send.log" && fail "two of three hear"

	# ---- all of them by IPv6, and the address is of IPv4: it says so
	by_ipv6="1 2"
	receivers 2 multicast
	send 0 "$work/file" $to -c multicast
	same 1 2
	says 'is an address of IPv4, and' "$work/send.log" || fail "it does not say why"
	says 'fix: give both sides -c multicast6' "$work/send.log" || fail "it knows no fix"
	receivers 2 multicast6
	sent 150 send 0 "$work/file" $to -c multicast6
	same 1 2
	says '^note:' "$work/send.log" && fail "they hear"
	by_ipv6=
fi

# ---- to many
receivers $many multicast
sent 250 send 0 "$work/file" $to -c multicast
print "$many hosts"
same $(seq $many)
stop
echo "well"
