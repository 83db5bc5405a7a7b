#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# veth.sh -- goodput from memory to memory between two network namespaces of this
# run's own, joined by veth.  `nopal bench bulk` runs it and makes the statistics;
# by hand:
#
#     veth.sh [-d DIRECTORY] [-n ROUNDS] [-t SECONDS] [-p V,W] [-r ROW,ROW...]
#             [-c CONNECTIONS,CONNECTIONS...]
#
# Prints one line of JSON a measurement, with the reports of both sides, and the
# packets that came back.  Path V is
# the default veth, which carries 64 KiB super-packets whole; W has all offloads
# off, so that every packet is a packet.  In each round all rows run once on each
# path, in random order.
#
# A row is a word that flood_raw, flood_tcp, flood_monolith or a peer_NAME knows,
# or else a Nopal config, interpreted; CONFIG-fused runs its fused unit.  For
# CONFIG, bench_CONFIG.conf beside this script is taken where it is there.
# NAME=WORD runs WORD under another name.
#
# The programs are in DIRECTORY (default: beside this script).  A row whose program
# was not built is left out, and a line says so.  The sender runs on core 0, the
# receiver on core 1, or on those of NOPAL_BENCH_CORES=SENDER,RECEIVER: two threads
# of one core are not two cores (lscpu -e).  Needs root; exits with 77 where it
# cannot run.
set -u

IFS=, read -r sender_core receiver_core <<<"${NOPAL_BENCH_CORES:-0,1}"
directory=$(cd "$(dirname "$0")" && pwd)
rounds=10 seconds=2 paths=V,W rows=raw,tcp,bulk counts=1
while getopts c:d:n:t:p:r: option; do
	case $option in
	c) counts=$OPTARG ;;
	d) directory=$OPTARG ;;
	n) rounds=$OPTARG ;;
	t) seconds=$OPTARG ;;
	p) paths=$OPTARG ;;
	r) rows=$OPTARG ;;
	*) sed -n 's/^#     //p' "$0" >&2; exit 2 ;;
	esac
done

here=nopal-a-$$ there=nopal-b-$$
address=10.9.0.2:9000
# beyond the time of a measurement: handshakes, farewells, a busy machine
patience=$(awk -v s="$seconds" 'BEGIN { print int(s) + 12 }')
start_patience=5

say() { echo "veth.sh: $*" >&2; }
cannot() { say "$*"; exit 77; }

# ------------------------------------------------------------- the namespaces

processes() { # whatever runs in our namespaces is ours
	for name in $here $there; do
		ip netns pids "$name" 2>/dev/null
	done
}

cleanup() {
	trap - EXIT INT TERM HUP PIPE
	for process in $(processes); do
		kill -9 "$process" 2>/dev/null
	done
	ip netns del "$here" 2>/dev/null
	ip netns del "$there" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP PIPE

[ "$(id -u)" = 0 ] || cannot "needs root, to make network namespaces"
for command in ip ethtool taskset timeout shuf; do
	command -v $command >/dev/null || cannot "there is no $command here;" \
		"tools/install-packages bench installs it"
done
for core in "$sender_core" "$receiver_core"; do
	taskset -c "$core" true 2>/dev/null || cannot "there is no core $core;" \
		"NOPAL_BENCH_CORES names two that are there"
done
ip netns add "$here" 2>/dev/null && ip netns add "$there" 2>/dev/null &&
	ip netns exec "$here" true &&
	ip link add va netns "$here" type veth peer name vb netns "$there" ||
	cannot "this machine refuses network namespaces"

link_up() { # NAMESPACE DEVICE ADDRESS
	ip -n "$1" addr add "$3" dev "$2"
	ip -n "$1" link set lo up
	ip -n "$1" link set "$2" up
}
link_up "$here" va 10.9.0.1/24
link_up "$there" vb 10.9.0.2/24

offloads() { # on|off; a veth's own GRO is off as it comes
	for side in "$here va" "$there vb"; do
		set -- "$1" $side
		ip netns exec "$2" ethtool -K "$3" tso "$1" gso "$1" gro off \
			tx-udp-segmentation "$1" tx "$1" rx "$1" >/dev/null 2>&1
	done
}

set_path() {
	case $1 in
	V) offloads on ;;
	W) offloads off ;;
	*) say "there is no path $1; V and W are known"; exit 2 ;;
	esac
}

# ------------------------------------------------------------ one measurement

program_of() { # ROW
	case $1 in
	raw | raw-*) echo flood_raw ;;
	tcp | tcp-*) echo flood_tcp ;;
	enet | usrsctp | udt) echo "peer_$1" ;;
	srt | srt-*) echo peer_srt ;;
	monolith | monolith_*) echo flood_monolith ;;
	*) echo flood_nopal ;;
	esac
}

softirq_ns() { # what the kernel's own threads spent on packets
	cat "${softirq_threads[@]}" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}
softirq_threads=(/dev/null)
for comm in /proc/[0-9]*/comm; do
	{ read -r name <"$comm"; } 2>/dev/null || continue
	case $name in
	ksoftirqd/*) softirq_threads+=("${comm%comm}schedstat") ;;
	esac
done

run_in() { # NAMESPACE CORE PROGRAM ARGUMENT...
	local namespace=$1 core=$2
	shift 2
	exec ip netns exec "$namespace" timeout -k 1 "$patience" \
		taskset -c "$core" "$@"
}

# Configs run interpreted, and with units where the row says so; packets carry as
# much as everyone's.
export FLOOD_BODY=1400 NOPAL_FUSED=off NOPAL_CONFIGS=${NOPAL_CONFIGS:-$directory}
units=$directory:$directory/../../configs

packets_back() {
	ip netns exec "$there" cat /sys/class/net/vb/statistics/tx_packets
}

measure() { # PATH ROUND NAME ROW CONNECTIONS
	local program=$directory/$(program_of "$4") what=$4
	local ready= sent= received= before after back
	local -x FLOOD_CONNECTIONS=$5
	[ -x "$program" ] || return 0
	case $what in
	*-fused)
		what=${what%-fused}
		local -x NOPAL_FUSED=$units FLOOD_FUSED=1
		;;
	esac
	[ ! -e "$directory/bench_$what.conf" ] || what=$directory/bench_$what.conf
	exec 3< <(run_in "$there" "$receiver_core" "$program" recv $address "$seconds" "$what")
	read -r -t $start_patience -u 3 ready
	before=$(softirq_ns)
	back=$(packets_back)
	[ -z "$ready" ] ||
		sent=$(run_in "$here" "$sender_core" "$program" send $address "$seconds" "$what" | tail -1)
	read -r -t "$patience" -u 3 received
	after=$(softirq_ns)
	back=$(($(packets_back) - back))
	exec 3<&-
	for process in $(processes); do
		kill -9 "$process" 2>/dev/null
	done
	printf '{"path":"%s","round":%d,"row":"%s","connections":%d,"packets_back":%d,"softirq_s":%s,"send":%s,"recv":%s}\n' \
		"$1" "$2" "$3" "$5" "$back" \
		"$(awk -v a="$after" -v b="$before" 'BEGIN { printf "%.6f", (a - b) / 1e9 }')" \
		"${sent:-null}" "${received:-null}"
}

IFS=, read -r -a path_list <<<"$paths"
IFS=, read -r -a row_list <<<"$rows"
IFS=, read -r -a count_list <<<"$counts"
for row in "${row_list[@]}"; do
	[ -x "$directory/$(program_of "${row#*=}")" ] ||
		printf '{"left_out":"%s","program":"%s"}\n' "${row%%=*}" \
			"$(program_of "${row#*=}")"
done
for ((round = 0; round < rounds; round++)); do
	for path in "${path_list[@]}"; do
		set_path "$path"
		for count in "${count_list[@]}"; do
			for row in $(printf '%s\n' "${row_list[@]}" | shuf); do
				measure "$path" $round "${row%%=*}" "${row#*=}" "$count"
			done
		done
	done
done
