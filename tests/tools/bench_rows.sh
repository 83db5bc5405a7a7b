#!/bin/sh
# SPDX-License-Identifier: MIT
# bench_rows PROGRAM -- every measurement that needs no namespaces brings a figure
# for each of its rows, however short it is, and says what is wrong with its words.
. "$(dirname "$0")/said.sh"
# MEASUREMENT ROWS OPTION...: each row has a figure
rows() {
	what=$1 list=$2
	shift 2
	"$nopal" bench "$what" -n 1 -q --rows "$list" "$@" \
		>"$folder/out" 2>"$folder/err" || fault "$what failed"
	for row in $(echo "$list" | tr , ' '); do
		grep -q "^  $row  *[0-9.e+]*[1-9]" "$folder/out" || fault "$what: no $row"
	done
}
refused() {
	code=0
	"$nopal" bench "$@" >"$folder/out" 2>"$folder/err" || code=$?
	[ $code = 2 ] || fault "$*: exit $code"
	grep -q 'fix:' "$folder/err" || fault "$*: no fix"
}
rows pingpong raw,tcp,ctp_minimal,bulk --count 50
rows messages raw,raw-gso,ctp_minimal,bulk+coalesce -t 0.05
rows fanout raw,ctp_minimal,bulk --size 1000B --count 7 -t 0.05
rows sim bulk,ctp_minimal --count 1000000
rows scale one_to_many_all,ctp_minimal --count 50 --sessions 100
rows scale bulk --sessions 100 --json "$folder/json"
grep -q '"at rest"' "$folder/json" || fault "scale: no document"

# in virtual time a round is a seed, and what a figure must be is known
"$nopal" bench streams -n 1 -q --count 20 >"$folder/out" 2>"$folder/err" ||
	fault "streams failed"
has '^  the others  *0.0000  *0.0000  *0.0000  *0.0000  *0.0000  *-$'
has '^  that one .* [1-9][0-9.]*  *-$'
awk '$1 == "loaded" { seen++; if ($NF > 1) late = 1 }
	END { exit seen == 2 && !late ? 0 : 1 }' "$folder/out" ||
	fault "an urgent message under load is later by more than a round trip"
cp "$folder/out" "$folder/before"
"$nopal" bench streams -n 1 -q --count 20 >"$folder/out" 2>"$folder/err" ||
	fault "streams failed"
cmp "$folder/before" "$folder/out" || fault "streams: not the same twice"
refused pingpong only two
refused pingpong --seconds 0.1
refused streams --rows each
refused streams --seconds 0.1
refused fec --count 3
refused scale --paths V
refused streams --count 1
refused streams --size 100000B
refused streams two words
refused scale --count 100000
refused scale no_such_config
refused messages --size 5000B
refused fanout --count 100000
refused fanout --rows ctp_minimal --size 14000B
refused sim --rows no_such_config

code=0
"$nopal" bench fec -n 1 -t 0.02 -q >"$folder/out" 2>"$folder/err" || code=$?
[ $code = 0 ] || [ $code = 77 ] || fault "fec: exit $code"
[ $code = 77 ] || grep -q '^  cauchy  *[0-9]' "$folder/out" || fault "fec: no row"
