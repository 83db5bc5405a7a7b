#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh -- one file from three servers over loopback, behind links of 5, 10 and 20
# Mbit/s: whole, while two of them are killed, all of them, and who fetches; servers that
# come late, have another version, or none; and words that are wrong.
#
#   fetch.sh PROGRAM        (or $NOPAL; exit 77: it cannot run here)
set -u
nopal=${1:-${NOPAL:-}}
[ -x "$nopal" ] || { echo "no program: skipped"; exit 77; }
nopal=$(realpath "$nopal")
work=$(mktemp -d) || exit 77
pids= relays= port=$((20000 + ($$ * 37) % 30000))

trap 'kill -9 $pids $relays 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	tail -n 6 "$work"/*.log
	exit 1
}
wait_for() { # FILE WORDS: a line that begins so
	tries=0
	until grep -q "^$2" "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -gt 200 ] && { cat "$1"; exit 77; }
		sleep 0.05
	done
}
# serve I: the folder $work/I at $at_I; its process is $pid_I.
serve() {
	eval "at=\$at_$1"
	"$nopal" serve "$work/$1" --listen "127.0.0.1:$at" \
		2>"$work/serve$1.log" &
	pids="$pids $!"
	eval "pid_$1=$!"
	wait_for "$work/serve$1.log" 'listening on'
}
# relay I MBIT: server i is reached at 127.0.0.1:$to_I, at that rate.
relay() {
	port=$((port + 2))
	eval "at_$1=$port to_$1=127.0.0.1:$((port + 1))"
	"$nopal" link "rate ${2}mbit delay 5ms limit 100" --relay \
		"127.0.0.1:$((port + 1))" "127.0.0.1:$port" \
		>"$work/link$1.json" 2>"$work/link$1.log" &
	relays="$relays $!"
	wait_for "$work/link$1.log" 'relay at'
}
# fetch CODE WORDS...: it ends with this code.
fetch() {
	code=$1
	shift
	timeout 100 "$nopal" fetch "$@" >"$work/fetch.json" 2>"$work/fetch.log"
	got=$?
	[ $got -eq "$code" ] || fail "fetch ended with $got in place of $code: $*"
	[ "$code" = 0 ] && return
	grep -q '^error: ' "$work/fetch.log" || fail "no error was said: $*"
	grep -q 'fix: \|--overwrite\|are kept\|too large' "$work/fetch.log" ||
		fail "no fix was said: $*"
}
said() {
	grep -q "$1" "$work/fetch.log" || fail "it was not said: $1"
}
# row I WORD: what the table says of server i.
row() {
	eval "address=\$to_$1"
	grep -q "^  $address  *$2" "$work/fetch.log" || fail "server $1 is not: $2"
}
same() {
	cmp "$work/1/file" "$work/out/file" || fail "another file: $*"
	[ "$(ls -A "$work/out")" = file ] || fail "something was left: $*"
	rm "$work/out/file"
}
seconds() {
	sed -n 's/.*"duration_ns":\([0-9]*\)[0-9]\{6\},"goodput.*/\1 ms/p' "$work/fetch.json"
}
# Waits until so many bytes came to where the file is built.
came() {
	tries=0
	until [ "$(stat -c %s "$work/out/.file.nopal-part" 2>/dev/null || echo 0)" -ge "$1" ]; do
		tries=$((tries + 1))
		[ $tries -gt 1000 ] && fail "nothing came"
		sleep 0.02
	done
}

mkdir -p "$work/1/films" "$work/2/films" "$work/3/films" "$work/out"
head -c 6000000 /dev/urandom >"$work/1/file" || exit 77
for i in 2 3; do cp "$work/1/file" "$work/$i/file"; done
relay 1 5
relay 2 10
relay 3 20
for i in 1 2 3; do serve $i; done
to="$to_1 $to_2 $to_3"

# ---- three, and the fastest alone; the times are for people
fetch 0 file "$to_3" -o "$work/out/file" --json
echo "20 Mbit/s alone: $(seconds)"
same alone
fetch 0 file $to -o "$work/out/file" --json
echo "5, 10 and 20 Mbit/s: $(seconds)"
same three
for i in 1 2 3; do row $i share; done
grep -q '"gave":3' "$work/fetch.json" || fail "not all of them gave"
grep -q '"result":"ok"' "$work/fetch.json" || fail "no JSON"
grep -q '"judged":{.*"integrity":{[^}]*"verdict":"held"' "$work/fetch.json" ||
	fail "it is not judged"
grep -q '"verdict":"broken"' "$work/fetch.json" && fail "a good run breaks a promise"

# ---- it is there already; and another is in its place
cp "$work/1/file" "$work/out/file"
fetch 0 file $to -o "$work/out/file"
said 'was there already'
echo other >"$work/out/file"
fetch 1 file $to -o "$work/out/file"
said 'differs (--overwrite'
[ "$(cat "$work/out/file")" = other ] || fail "a file was written over"
fetch 0 file $to -o "$work/out/file" --overwrite
same overwritten

# ---- two are killed in the middle
"$nopal" fetch file $to -o "$work/out/file" 2>"$work/fetch.log" &
fetching=$!
came 1500000
kill -9 "$pid_3"
came 3000000
kill -9 "$pid_1"
wait $fetching || fail "two deaths were too many"
same "two deaths"
row 2 share

# ---- one comes late, and one comes back: it is asked as the others
"$nopal" fetch file $to -o "$work/out/file" --json >"$work/fetch.json" \
	2>"$work/fetch.log" &
fetching=$!
came 500000
serve 3
wait $fetching || fail "one came late, and it failed"
same late
row 3 share
serve 1

# ---- all are killed: what came is kept, and the next run goes on from there
for i in 1 2 3; do
	head -c 16000000 /dev/zero | cat - "$work/1/file" >"$work/long"
	mv "$work/long" "$work/$i/long"
done
cp "$work/1/long" "$work/long"
"$nopal" fetch long $to -o "$work/out/file" --wait 1s 2>"$work/fetch.log" &
fetching=$!
came 9000000
kill -9 "$pid_1" "$pid_2" "$pid_3"
wait $fetching && fail "it is whole from nobody"
said 'all servers are gone'
said 'are kept; the same command goes on'
[ -e "$work/out/file" ] && fail "a part is called a file"
for i in 1 2 3; do serve $i; done
fetch 0 long $to -o "$work/out/file" --json
said 'resumed at'
cmp "$work/long" "$work/out/file" || fail "what was resumed differs"

# ---- who fetches is killed, and the next one goes on with what is right of it
rm "$work/out/file"
"$nopal" fetch long $to -o "$work/out/file" 2>"$work/fetch.log" &
fetching=$!
came 9000000
kill -9 $fetching
wait $fetching 2>/dev/null
[ -e "$work/out/file" ] && fail "a part is called a file"
echo damaged | dd of="$work/out/.file.nopal-part" bs=1 seek=4000000 conv=notrunc 2>"$work/dd.log"
fetch 0 long $to -o "$work/out/file"
said 'resumed at'
cmp "$work/long" "$work/out/file" || fail "what was resumed differs"
rm "$work/out/file"

# ---- it is interrupted
"$nopal" fetch file $to -o "$work/out/file" 2>"$work/fetch.log" &
fetching=$!
came 500000
kill -INT $fetching
wait $fetching && fail "it is whole when it is interrupted"
said 'interrupted'
said 'are kept; the same command goes on'

# ---- servers give other bytes than they have said: these are thrown away, and no others
# lie I: server i is caught in the middle of a run; it stands still while its file has another
# time, by which it would notice the change.
lie() {
	eval "server=\$pid_$1"
	kill -STOP "$server"
	touch -r "$work/$1/file" "$work/stamp"
	echo other | dd of="$work/$1/file" bs=1 seek=5999000 conv=notrunc 2>"$work/dd.log"
	touch -r "$work/stamp" "$work/$1/file"
	kill -CONT "$server"
}
rm "$work/out/.file.nopal-part"
"$nopal" fetch file "$to_1" -o "$work/out/file" 2>"$work/fetch.log" &
fetching=$!
came 1500000
lie 1
wait $fetching && fail "other bytes are called the file"
row 1 failed
said "are not the file's.*; fix: "
said 'no server is left that gives the rest'
said '5996544 of 6000000 bytes are kept'
[ -e "$work/out/file" ] && fail "a part is called a file"
cp "$work/2/file" "$work/1/file"
fetch 0 file "$to_1" -o "$work/out/file" --json
said 'resumed at 6.0 MB'
same "after a lie"
# all but one of them lie, and the run is well
"$nopal" fetch file $to -o "$work/out/file" 2>"$work/fetch.log" &
fetching=$!
came 1500000
lie 1
lie 3
wait $fetching || fail "one honest one was not enough"
for i in 1 3; do cp "$work/2/file" "$work/$i/file"; done
same "of one honest one of three"

# ---- the file that is wanted is named, and others are not taken
hash=$(sed -n 's/.*"hash":"\([0-9a-f]*\)".*/\1/p' "$work/fetch.json")
fetch 0 file $to -o "$work/out/file" --hash "$hash"
same "with its hash"
fetch 1 file $to -o "$work/out/file" --hash 0123456789abcdef
said 'which is wanted'
fetch 2 file $to -o "$work/out/file" --hash 123
fetch 2 file $to -o "$work/out/file" --hash 0123456789abcdefg

# ---- no room on disk
(ulimit -f 2000 && fetch 1 file $to -o "$work/out/file") || exit 1
[ -e "$work/out/file" ] && fail "a part is called a file"
fetch 0 file $to -o "$work/out/file"
same "after there was no room"

# ---- another version: of one and one, that of the first that answers is taken
head -c 2000000 "$work/1/file" >"$work/1/film"
head -c 2000000 /dev/urandom >"$work/2/film"
fetch 0 film "$to_1" "$to_2" -o "$work/out/file"
said 'another version: '
cmp -s "$work/1/film" "$work/out/file" || cmp -s "$work/2/film" "$work/out/file" ||
	fail "of two versions something else was made"
rm "$work/out/file"

# ---- who does not have it is left out; from here on without the links
for i in 1 2 3; do eval "to_$i=127.0.0.1:\$at_$i"; done
to="$to_1 $to_2 $to_3"
cp "$work/1/file" "$work/1/film"
fetch 0 film "$to_3" "$to_1" -o "$work/out/file"
row 3 refused
said 'film: there is no such file'
same "of one of two"

# ---- below the folder, and nothing else
cp "$work/1/file" "$work/1/films/film"
(cd "$work/out" && fetch 0 films/film "$to_1") || exit 1
cmp "$work/1/file" "$work/out/film" || fail "another file from a folder"
rm "$work/out/film"
echo secret >"$work/secret"
ln -s ../secret "$work/1/link"
fetch 1 link "$to_1" -o "$work/out/file"
said 'links are not followed'
fetch 2 ../secret "$to_1" -o "$work/out/file"
said 'begin with a dot'
fetch 2 /etc/passwd "$to_1" -o "$work/out/file"
fetch 1 none $to -o "$work/out/file"
said 'no server gives it'

# ---- several files, one of which nobody has
(cd "$work/out" && fetch 1 films/film none film $to) || exit 1
[ ! -e "$work/out/none" ] || fail "a file from nowhere"
cmp "$work/1/film" "$work/out/film" || fail "one of several"
rm "$work/out/film"
(cd "$work/out" && fetch 0 file films/film $to) || exit 1
cmp "$work/1/films/film" "$work/out/film" || fail "one of several"
rm "$work/out/film"
same "of several"
fetch 2 file film $to -o "$work/out/file"
said 'several names'
fetch 2 file ../film $to

# ---- an empty file, and many at once from one
: >"$work/1/empty"
fetch 0 empty "$to_1" -o "$work/out/file"
[ -f "$work/out/file" ] && [ ! -s "$work/out/file" ] || fail "an empty file"
rm "$work/out/file"
many=
for i in $(seq 12); do
	"$nopal" fetch file "$to_1" "$to_2" \
		-o "$work/many$i" 2>"$work/many$i.log" &
	many="$many $!"
done
for i in $many; do wait "$i" || fail "one of many"; done
for i in $(seq 12); do
	cmp "$work/1/file" "$work/many$i" || fail "one of many differs"
done

# ---- words that are wrong
fetch 2 file "$to_1" "$to_1"
fetch 2 file "$to_1" -o "$work"
fetch 2 file "$to_1" -o "$work/none/file"
fetch 2 file "$to_1" -o "$work/1/file/file"
fetch 2 file "$to_1" -o "$work/out/.file"
fetch 2 file "$to_1" -c bulk -o "$work/out/file"
said 'take -c fetch'
fetch 2 file "$to_1" -c nothing -o "$work/out/file"
fetch 2 file 127.0.0.1:0 -o "$work/out/file"
fetch 2 file 127.0.0.1:9 --wait never -o "$work/out/file"
fetch 1 file 127.0.0.1:9 --wait 300ms -o "$work/out/file"
said 'no server answers'
fetch 1 file "$to_1" --set checksum.algorithm=ones_complement -o "$work/out/file"
said 'refused'
said 'give both sides the same'
for words in "$work/none" "$work/1/file" "$work/1 -c bulk"; do
	timeout 10 "$nopal" serve $words --listen 127.0.0.1:$port 2>"$work/fetch.log"
	[ $? -eq 2 ] || fail "serve $words"
	said 'fix: '
done
[ -z "$(ls -A "$work/out")" ] || fail "something was left: $(ls -A "$work/out")"

kill -INT $pids 2>/dev/null
wait $pids 2>/dev/null
grep -q Sanitizer "$work"/*.log && fail "a process has a fault"
echo "well"
