#!/bin/sh
# SPDX-License-Identifier: MIT
# send_many_breaks.sh -- one file to several receivers, and what may go wrong on either
# side: each time it ends clearly, nothing half has the file's name, and who is well
# is not harmed.
#
#   send_many_breaks.sh PROGRAM (or $NOPAL; exit 77: it cannot run here)
#
# Full and read-only disks are mounted where only this run sees them; without root they
# are left out.
if [ "${NOPAL_MOUNTS:-}" != own ] && [ "$(id -u)" = 0 ] &&
	unshare --mount true 2>/dev/null; then
	NOPAL_MOUNTS=own exec unshare --mount "$0" "$@"
fi
. "$(dirname "$0")/many.sh"
away() { umount -l "$work/2" 2>/dev/null; }
head -c 12000000 /dev/urandom >"$work/file" || exit 77
# tells WORDS: the sender said so.
tells() { says "$1" "$work/send.log" || fail "not told: $1"; }
unnamed() {
	for i in "$@"; do
		[ -e "$work/$i/file" ] && fail "half a file has its name at $i"
	done
}

# left I NAMES: soon, as the word of a fault is sent first.
holds() { [ "$(ls -A -I .nopal-reset-key "$work/$1")" = "$2" ]; }
left() {
	until_true 250 holds "$1" "$2" || fail "left at $1: $(ls -A -I .nopal-reset-key "$work/$1")"
}

# ---- wrong words: told at once, with a fix
refuses() {
	send 2 "$work/file" "$@"
	tells '^  fix: '
}
refuses 127.0.0.1:8 127.0.0.1:9
refuses 127.0.0.1:8 127.0.0.1:9 -c bulk
refuses 127.0.0.1:8 127.0.0.1:8 -c one_to_many_all
refuses 127.0.0.1:8 localhost:8 -c one_to_many_all
refuses 127.0.0.1:8 127.0.0.1:9 -c one_to_many_quorum --set fan_out.acks=3
tells 'fan_out.acks=2'
refuses 127.0.0.1:8 -c one_to_many_quorum
tells '2 must have it, and there is 1'

# ---- a receiver that is a sender: it takes none
"$nopal" send "$work/file" 127.0.0.1:9 --set virtual_circuit.attempts=100 \
	2>"$work/other.log" &
other=$!
pids="$pids $other"
# the port of its socket, as the kernel has it
its_port() {
	inode=$(for fd in /proc/$other/fd/*; do readlink "$fd"; done 2>/dev/null |
		sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p' | head -n 1)
	hex=$(awk -v i="${inode:-none}" '$10 == i { sub(/.*:/, "", $2); print $2 }' \
		/proc/net/udp)
	[ -n "$hex" ] && port_of_other=$(printf %d "0x$hex")
}
until_true 250 its_port || fail "the other sender has no port"
send 1 "$work/file" "127.0.0.1:$port_of_other" -c one_to_many_all
tells "127.0.0.1:$port_of_other  *refused .*; fix: "

# ---- the sender is killed: what is there is no file yet; and the same command again
receivers 3 one_to_many_all
each_begun() { for i in "$@"; do begun "$i" || return 1; done; }
cut_short() { # SIGNAL CONF
	"$nopal" send "$work/file" $to -c "$2" --rate 80Mbit 2>"$work/cut.log" &
	sender=$!
	pids="$pids $sender"
	until_true 1500 each_begun 1 2 3 || fail "nothing came"
	kill "-$1" $sender
	wait $sender 2>/dev/null
	code=$?
	unnamed 1 2 3
}
cut_short KILL one_to_many_all
send 0 "$work/file" $to -c one_to_many_all
tells 'resumed at'
same 1 2 3

# ---- with receivers that were not all as far: from the shortest beginning; with one
# that has all of it; with one that has none, or another's: all begin anew
again() { # the receivers of before, with what they have
	stop
	"$@"
	to=
	for i in 1 2 3; do receive $i one_to_many_all; done
	listening
	send 0 "$work/file" $to -c one_to_many_all
	same 1 2 3
}
half() {
	receivers 3 one_to_many_all
	cut_short KILL one_to_many_all
}
shorter() {
	sed -i 's/ [0-9]* \([0-9a-f]*\)$/ 100000 \1/' "$work/3/.file.nopal-state"
}
half
again shorter
tells 'resumed at 100.0 kB'
half
has_all() {
	rm "$work/1/".*.nopal-*
	cp -p "$work/file" "$work/1/file"
}
again has_all
tells 'resumed at'
row 1 'was there'
half
has_none() { rm "$work/2/".*.nopal-*; }
again has_none
says 'resumed' "$work/send.log" && fail "who has nothing was passed over"
half
has_others() { printf x | dd of="$work/2/.file.nopal-part" conv=notrunc 2>/dev/null; }
again has_others
says 'resumed' "$work/send.log" && fail "what is not the file's was kept"

# ---- or interrupted: it says so, and how far each is
receivers 3 one_to_many_all
cut_short INT one_to_many_all
[ $code -eq 1 ] || fail "an interrupted sender ended with $code"
[ "$(grep -c ' incomplete .*interrupted' "$work/cut.log")" = 3 ] ||
	fail "not told who is incomplete"
send 0 "$work/file" $to -c one_to_many_all
same 1 2 3

# ---- and where it is spread
receivers 3 one_to_many_balance
cut_short KILL one_to_many_balance
send 0 "$work/file" $to -c one_to_many_balance
together 1 2 3

# ---- the file gets shorter meanwhile: told here and there, and nothing stays
cp "$work/file" "$work/kept"
receivers 3 one_to_many_all
shorten() { truncate -s 3000000 "$work/file"; }
amidst 1 "1 2 3" shorten $to -c one_to_many_all
tells '^error: file: it got shorter'
for i in 1 2 3; do
	row $i failed
	until_true 250 says 'the sender: file: it got shorter' "$work/recv$i.log" ||
		fail "receiver $i does not know"
	left $i ""
done
mv "$work/kept" "$work/file"

# ---- a receiver is interrupted: it says goodbye, and nobody waits for it
receivers 3 one_to_many_all
interrupted() { eval "kill -INT \$pid_$1"; }
amidst 1 "1 2 3" interrupted $to -c one_to_many_all
row "$it" 'died .*aborted.*; fix: bring it back'
unnamed "$it"
same $(echo 1 2 3 | tr -d "$it")

# ---- a disk that is full from the start, or fills up, or may not be written
if [ "${NOPAL_MOUNTS:-}" != own ]; then
	stop
	echo "well, without disks"
	exit 0
fi
# disk OPTIONS CONF: receiver 2's, and receivers around it.
disk() {
	stop
	away
	mkdir -p "$work/2"
	mount -t tmpfs -o "$1" none "$work/2" || exit 77
	to= count=3
	for i in 1 2 3; do
		[ $i = 2 ] || rm -rf "${work:?}/$i"
		receive $i "$2"
	done
	listening
}
for mode in all any quorum; do
	disk size=4m one_to_many_all
	case $mode in all) code=1 ;; *) code=0 ;; esac
	send $code "$work/file" $to -c one_to_many_$mode
	row 2 'refused .*free on the disk.*; fix: mend that'
	left 2 ""
	same 1 3
done
disk size=4m one_to_many_balance
send 0 "$work/file" $to -c one_to_many_balance
row 2 'refused .*free on the disk'
left 2 ""
together 1 3

disk size=16m one_to_many_all
fills() { head -c 16m /dev/zero >"$work/2/zeros" 2>/dev/null; true; }
amidst 1 2 fills $to -c one_to_many_all
row 2 'failed .*No space left'
left 2 zeros
same 1 3

disk size=16m,ro one_to_many_all
send 1 "$work/file" $to -c one_to_many_all
row 2 'refused .*Read-only.*; fix: mend that'
left 2 ""
same 1 3
stop
echo "well"
