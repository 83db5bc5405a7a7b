#!/bin/sh
# SPDX-License-Identifier: MIT
# send_small PROGRAM -- small files go beside a large one: in a stream of the same flow, or in a
# session of their own; they arrive while the large one is under way.
. "$(dirname "$0")/said.sh"
receiver=
: >"$folder/err"
trap '[ -z "$receiver" ] || kill $receiver; rm -rf "$folder"' EXIT
head -c 3000000 /dev/urandom >"$folder/large"
for i in 1 2 3; do
	head -c "${i}000" /dev/urandom >"$folder/small$i"
done
# both CONFIG: the four files in two sessions, over loopback
both() {
	rm -rf "$folder/in" "$folder/recv"
	timeout 60 "$nopal" recv -c "$1" -o "$folder/in" --listen 127.0.0.1:0 --once \
		2>"$folder/recv" &
	receiver=$!
	i=0
	until grep -qs "^listening on" "$folder/recv"; do
		i=$((i + 1))
		[ $i -gt 100 ] && exit 77
		sleep 0.05
	done
	port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$folder/recv")
	timeout 60 "$nopal" send "$folder/small1" "$folder/large" "$folder/small2" \
		"$folder/small3" "127.0.0.1:$port" -c "$1" --small 64KiB --rate 40Mbit \
		>"$folder/out" 2>&1 || fault "$1: send ended with $?"
	wait $receiver || fault "$1: recv ended with $?"
	receiver=
	for name in large small1 small2 small3; do
		cmp "$folder/$name" "$folder/in/$name" || fault "$1: $name differs"
	done
	# in the order of their ends
	[ "$(sed -n 's/^\([a-z]*[1-3]*\): [0-9].*/\1/p' "$folder/out" | tr '\n' ' ')" = \
		"small1 small2 small3 large " ] || fault "$1: a small file waited"
}
config=madp_streams
"$nopal" check $config >/dev/null 2>&1 || config=streams # a build without libcrypto
both $config
both bulk

# one is enough where all are small; and there must be one receiver
timeout 20 "$nopal" send "$folder/small1" 127.0.0.1:9 127.0.0.1:10 -c one_to_many_all \
	--small 1kB >"$folder/out" 2>&1 && fault "to many: no refusal"
has 'fix: leave --small out'
