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
	holds "beside $count of own flows it has no more than two parts"
done
holds 'who joins a flow may send sooner'
holds 'who joins a flow may send within a round trip'
has '^  another joins  *0.0000 \[1.000\]'
! grep -q '^  does not hold' "$folder/out" || fault "something does not hold"

again 0 udt-flows --sim --quick --runs 2 --rows 10 --seed 3
cp "$folder/out" "$folder/before"
again 0 udt-flows --sim --quick --runs 2 --rows 10 --seed 3
cmp "$folder/before" "$folder/out" || fault "not the same twice"
! grep -q '^  500 ' "$folder/out" || fault "a row that was not wanted"
again 0 udt-flows --sim --quick --runs 1 --rows 10 --json
has '"measurement": "udt-flows"'
has '"verdict": "not measured"'
# there is nothing live about it
again 77 udt-flows --live
grep -q 'udt-fig7' "$folder/err" || fault "live: not a word"

# ------------------------------------------------------------------------- live
# live EXPERIMENT ROW...: a short round of it, or a plain word why there is none
live() {
	code=0
	timeout 200 "$nopal" reproduce "$1" --live --quick --runs 1 --paths W \
		--rows "$2" --quiet >"$folder/out" 2>"$folder/err" || code=$?
	case $code in
	0) return 0 ;;
	77) grep -q '^note: no ' "$folder/err" || fault "$1: skipped, and not a word" ;;
	*) fault "$1: exit $code" ;;
	esac
	return 1
}
if live udt-fig6 tcp,raw-single,udt4; then
	has '^one flow on W'
	has '^  TCP  *[0-9][0-9.]* \[1.432\]  *[0-9][0-9.]* \[17.91\]  *[0-9][0-9.]* \[5.400\]'
	has '^  udt4  *[0-9]'
	! grep -q '^one flow on V' "$folder/out" || fault "a path that was not wanted"
	! grep -q '^  bulk' "$folder/out" || fault "a row that was not wanted"
fi
if live udt-fig7 tcp,udt4,udt4_shared; then
	# 500 may be too many for a busy machine: a note says so
	rows=$(grep -c '^  10  *[0-9][0-9.]*  *[0-9][0-9.]*  *[0-9]' "$folder/out")
	[ "$rows" = 5 ] || fault "10 connections have $rows rows, not 5"
fi
# processor time is of no use in virtual time
again 77 udt-fig6 --sim
grep -q 'udt-flows' "$folder/err" || fault "simulated: not a word"
NOPAL_BENCH_DIR=/nonexistent again 77 udt-fig7 --live --quick
grep -q '^note: no programs' "$folder/err" || fault "no programs: not a word"
