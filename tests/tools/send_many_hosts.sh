#!/bin/sh
# SPDX-License-Identifier: MIT
# send_many_hosts.sh -- one file to several hosts at once, each in a network namespace
# of its own: in each mode, with a receiver killed in the middle, with a cable that is
# pulled and put back, and to 32.
#
#   send_many_hosts.sh PROGRAM  (or $NOPAL; exit 77: it cannot run here)
#
# Times are printed beside what the configs say, and not judged: 8 s of silence end a
# receiver's session.
. "$(dirname "$0")/many.sh"
. "$(dirname "$0")/star.sh"
many=32
away() { star_close; }
star_open $many || {
	echo "cannot make network namespaces and run something in them: skipped"
	exit 77
}
here=$star_here
at() { address=10.9.$1.2:9000; }
on() { star_on "$@"; }
# The table, for people.
print() {
	echo "---- $*"
	cat "$work/send.log"
}

# ---- each mode: everybody has every byte, or all of them together have
head -c 12000000 /dev/urandom >"$work/file" || exit 77
for mode in all any quorum; do
	receivers 3 one_to_many_all
	send 0 "$work/file" $to -c one_to_many_$mode
	print "$mode"
	same 1 2 3
	for i in 1 2 3; do row $i complete; done
done
receivers 3 one_to_many_balance
send 0 "$work/file" $to -c one_to_many_balance
print balance
for i in 1 2 3; do row $i share; done
together 1 2 3

# ---- progress, a line a receiver, each second
receivers 3 one_to_many_all
send 0 "$work/file" $to -c one_to_many_all --rate 40Mbit --jsonl
same 1 2 3
grep '"type":"interval"' "$work/send.json" >"$work/progress" || fail "no progress"
for i in 1 2 3; do
	grep -q '"receiver":"10.9.'$i'.2:9000","state":"incomplete","why":null,"fix":null,"bytes":[1-9]' \
		"$work/progress" || fail "no progress of receiver $i"
done

# ---- one is killed in the middle: it is gone after 8 s of silence, and what the mode
# promises holds
lives() { echo 1 2 3 | tr -d "$it"; }
killed_in() { # MODE CODE WORDS...
	mode=$1 code=$2
	shift 2
	receivers 3 one_to_many_all
	send_and_kill "$code" "1 2 3" $to -c "one_to_many_$mode" "$@"
	print "$mode, receiver $it killed: stated: gone after 8 s of silence"
	same $(lives)
	for i in $(lives); do row "$i" complete; done
}
killed_in all 1
grep -q '2 of 3 have it, and 3 must' "$work/send.log" || fail "the rule was not said"
killed_in any 0
killed_in quorum 0 --set fan_out.acks=2
killed_in quorum 1 --set fan_out.acks=3
receivers 3 one_to_many_balance
send_and_kill 0 "1 2 3" $to -c one_to_many_balance
print "balance, receiver $it killed: stated: gone after 8 s of silence"
together $(lives)

# ---- a cable is pulled and put back before that: nobody has less for it
pull() {
	star_link "$1" down && sleep 3 && star_link "$1" up
}
receivers 3 one_to_many_all
amidst 0 "1 2 3" pull $to -c one_to_many_all
print "all, the cable of receiver $it pulled for 3 s"
same 1 2 3

# ---- and the sender's own, all of them
pull_all() {
	for i in 1 2 3; do star_link $i down; done
	sleep 3
	for i in 1 2 3; do star_link $i up; done
}
receivers 3 one_to_many_all
amidst 0 "1 2 3" pull_all $to -c one_to_many_all
print "all, every cable pulled for 3 s"
same 1 2 3

# ---- and for good: it has died, the others have it; and when it is back, the same
# command brings it what it has not
receivers 3 one_to_many_all
unplug() { star_link "$1" down; }
amidst 1 "1 2 3" unplug $to -c one_to_many_all
print "all, the cable of receiver $it pulled for good: gone after 8 s of silence"
row "$it" died
same $(lives)
[ -e "$work/$it/file" ] && fail "half a file has its name"
star_link "$it" up
send 0 "$work/file" $to -c one_to_many_all
print "all, once more with the cable"
same 1 2 3
row "$it" complete
for i in $(lives); do row "$i" 'was there'; done

# ---- to many
receivers $many one_to_many_all
send 0 "$work/file" $to -c one_to_many_all
print "all, $many hosts"
same $(seq $many)
stop
echo "well"
