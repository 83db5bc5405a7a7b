#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce_udt PROGRAM -- flows that connections share, short: the shape of what is
# claimed for them holds in virtual time, and the same seed gives the same tables.
. "$(dirname "$0")/said.sh"
# again CODE WORDS...
again() {
	wanted=$1
	shift
	code=0
	timeout 200 "$nopal" reproduce "$@" --quiet >"$folder/out" 2>"$folder/err" ||
		code=$?
	[ $code = "$wanted" ] || fault "$*: exit $code, not $wanted"
}
holds() { grep -q "^  holds  *$1" "$folder/out" || fault "does not hold: $1"; }

again 0 udt-flows --sim --quick --runs 1
for count in 10 100 500; do
	holds "$count connections that share a flow need fewer control packets"
done
for count in 100 500; do
	holds "$count connections that share a flow share it evenly"
	holds "$count connections that coordinate have more"
done
for count in 5 10 20; do
	holds "beside $count connections of one flow a foreign one has about its half"
	holds "beside $count of own flows it has one part"
done
holds 'who joins a flow may send sooner'
holds 'who joins a flow may send within a round trip'
has '^  another joins  *0.0000 \[1.000\]'
! grep -q '^  does not hold' "$folder/out" || fault "something does not hold"
cp "$folder/out" "$folder/before"
again 0 udt-flows --sim --quick --runs 1
cmp "$folder/before" "$folder/out" || fault "not the same twice"
again 0 udt-flows --sim --quick --runs 1 --seed 7 --json
has '"experiment": "udt-flows"'
# there is nothing live about it
again 77 udt-flows --live
grep -q 'udt-fig7' "$folder/err" || fault "live: not a word"
