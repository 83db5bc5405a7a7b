# SPDX-License-Identifier: MIT
# many.sh PROGRAM -- not run, but read first by tests of one file to several receivers.
# Receiver I has folder $work/I, talk in $work/recvI.log, process $pid_I and address
# $to_I; all addresses are in $to.  They are on loopback, unless a test says otherwise:
#
#   at I             sets $address: that of receiver I, which is about to start
#   on I COMMAND...  becomes this command, where receiver I is
#   $here            words before the sender's command
#   away             at the end, whatever happened
set -u
nopal=${1:-${NOPAL:-}}
[ -x "$nopal" ] || { echo "no program: skipped"; exit 77; }
work=$(mktemp -d) || exit 77
pids= here= port=$((20000 + ($$ * 53) % 30000))
at() {
	port=$((port + 1))
	address=127.0.0.1:$port
}
on() {
	shift
	exec "$@"
}
away() { :; }

trap 'kill -9 $pids 2>/dev/null; away; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	tail -n 6 "$work"/*.log
	exit 1
}

# until_true TRIES COMMAND...: at intervals; a script has no better clock than this.
until_true() {
	tries=$1
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.02
	done
}
says() { grep -q "$1" "$2" 2>/dev/null; }

stop() {
	kill -INT $pids 2>/dev/null
	wait $pids 2>/dev/null
	pids=
	grep -q Sanitizer "$work"/*.log 2>/dev/null && fail "a receiver has a fault"
}
# receive I CONF WORDS...: receiver I runs, with whatever is in its folder.
receive() {
	at "$1"
	eval "to_$1=$address"
	mkdir -p "$work/$1"
	# anew: the last one's line is no sign of this one
	rm -f "$work/recv$1.log"
	number=$1 conf=$2
	shift 2
	on "$number" "$nopal" recv -c "$conf" -o "$work/$number" \
		--listen "$address" "$@" 2>"$work/recv$number.log" &
	eval "pid_$number=$!"
	pids="$pids $!"
	to="$to $address"
}
# receivers COUNT CONF WORDS...: that many, with empty folders, and no others.
receivers() {
	stop
	to= count=$1
	shift
	for i in $(seq "$count"); do
		rm -rf "${work:?}/$i"
		receive "$i" "$@"
	done
	listening
}
# Until each of $count is.
listening() {
	for i in $(seq "$count"); do
		until_true 500 says '^listening on' "$work/recv$i.log" ||
			{ cat "$work"/recv*.log; exit 77; }
	done
}
# send CODE WORDS...: it ends with this code.
send() {
	code=$1
	shift
	$here timeout 60 "$nopal" send "$@" >"$work/send.json" 2>"$work/send.log"
	got=$?
	[ $got -eq "$code" ] || fail "send ended with $got in place of $code"
}
# row I WORD: what the table says of receiver i.
row() {
	eval "address=\$to_$1"
	grep -q "^  $address  *$2" "$work/send.log" || fail "receiver $1 is not: $2"
}
same() {
	for i in "$@"; do
		cmp "$work/file" "$work/$i/file" || fail "receiver $i has another file"
		[ "$(ls -A -I .nopal-reset-key "$work/$i")" = file ] || fail "something was left at $i"
	done
}
# together I...: each keeps its pieces in place, and together they have all.
together() {
	for i in "$@"; do
		[ -e "$work/$i/file" ] && fail "a share is called a file at $i"
	done
	perl -e 'local $/; my $all = ""; my $file = <STDIN>;
		for (@ARGV) { open(my $f, "<", $_) or die; my $p = <$f>; $all |= $p; }
		exit($all eq $file ? 0 : 1);' \
		$(for i in "$@"; do echo "$work/$i/.file.nopal-part"; done) \
		<"$work/file" || fail "together they do not have it: $*"
}

# begun I...: one of these has some of the file, in the part that it is building; its
# number is in $work/begun.
begun() {
	for i in "$@"; do
		[ "$(stat -c %s "$work/$i/.file.nopal-part" 2>/dev/null || echo 0)" -lt \
			200000 ] && continue
		echo "$i" >"$work/begun"
		return 0
	done
	return 1
}
# amidst CODE "I..." "WHAT" WORDS...: a file is sent, slow enough for that, and when one
# of these receivers has some of it, WHAT happens to it: a command and its number.
amidst() {
	code=$1
	rm -f "$work/begun"
	{ until_true 1500 begun $2 && $3 "$(cat "$work/begun")"; } &
	meddler=$!
	shift 3
	send "$code" "$work/file" "$@" --rate 80Mbit
	wait $meddler || fail "nothing came to the receivers"
	it=$(cat "$work/begun")
}
killed() { eval "kill -9 \$pid_$1"; }
# send_and_kill CODE "I..." WORDS...: in the middle; $it is the one.
send_and_kill() {
	code=$1 whom=$2
	shift 2
	amidst "$code" "$whom" killed "$@"
	row "$it" died
}
