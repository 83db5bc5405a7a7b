# SPDX-License-Identifier: MIT
# star.sh -- not run, but read by tests between hosts: network namespaces of this
# run's own, one in the middle and others around it, each on a veth pair to it.
#
#   star_open COUNT      makes them; false: this machine refuses, and nothing stays
#   star_close           ends what runs in them, and them; also after a failure
#   $star_here           words before a command: in the middle
#   star_on I COMMAND... becomes the command at host I, who is 10.9.I.2; the middle is
#                        10.9.I.1 to it
#   star_link I up|down  its cable
#   star_lan             all of them in one network, too: the middle is 10.8.0.1 at
#                        `lan`, a bridge, and host I is `star_lan_address I`
#   star_lan6            by IPv6, too, where this kernel has it: fd08::1, and host I is
#                        `star_lan_address6 I`
star=nopal-star-$$ star_count=0
star_here="ip netns exec $star-0"

star_close() {
	for i in $(seq 0 $star_count); do
		for process in $(ip netns pids "$star-$i" 2>/dev/null); do
			kill -9 "$process" 2>/dev/null
		done
		ip netns del "$star-$i" 2>/dev/null
	done
}
star_host() {
	ip netns add "$star-$1" &&
		ip link add "host$1" netns "$star-0" type veth \
			peer name cable netns "$star-$1" &&
		ip -n "$star-0" address add "10.9.$1.1/24" dev "host$1" &&
		ip -n "$star-0" link set "host$1" up &&
		ip -n "$star-$1" address add "10.9.$1.2/24" dev cable &&
		ip -n "$star-$1" link set lo up &&
		ip -n "$star-$1" link set cable up
}
# in a chroot a namespace can be made, and nothing can be run in it
star_open() {
	[ "$(id -u)" = 0 ] && command -v ip >/dev/null || return 1
	star_count=$1
	{ ip netns add "$star-0" && $star_here true; } 2>/dev/null &&
		ip -n "$star-0" link set lo up || return 1
	for i in $(seq "$1"); do
		star_host "$i" 2>/dev/null || return 1
	done
}
star_on() {
	host=$1
	shift
	exec ip netns exec "$star-$host" "$@"
}
star_link() { ip -n "$star-$1" link set cable "$2"; }
star_lan_address() { echo "10.8.0.$(($1 + 1))"; }
star_lan() {
	ip -n "$star-0" link add lan type bridge mcast_snooping 0 &&
		ip -n "$star-0" address add 10.8.0.1/24 dev lan &&
		ip -n "$star-0" link set lan up || return 1
	for i in $(seq "$star_count"); do
		ip -n "$star-0" link set "host$i" master lan &&
			ip -n "$star-$i" address add \
				"$(star_lan_address "$i")/24" dev cable || return 1
	done
}
star_lan_address6() { printf 'fd08::%x\n' $(($1 + 1)); }
star_lan6() {
	ip -n "$star-0" address add fd08::1/64 dev lan nodad 2>/dev/null || return 1
	for i in $(seq "$star_count"); do
		ip -n "$star-$i" address add "$(star_lan_address6 "$i")/64" \
			dev cable nodad || return 1
	done
}
