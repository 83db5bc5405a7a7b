#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce PROGRAM -- the experiments of the papers, simulated and short: the shape
# of what they claim holds in virtual time, the same seed gives the same report, and
# wrong words are answered.  Live they are only begun.
. "$(dirname "$0")/said.sh"
# again CODE WORDS...
again() {
	wanted=$1
	shift
	code=0
	timeout 200 "$nopal" reproduce "$@" >"$folder/out" 2>"$folder/err" || code=$?
	[ $code = "$wanted" ] || fault "$*: exit $code, not $wanted"
}
holds() { grep -q "^  holds  *$1" "$folder/out" || fault "does not hold: $1"; }
refused() {
	again 2 "$@"
	grep -q 'fix: ' "$folder/err" || fault "$*: no fix"
}
# experiment NAME: twice the same
experiment() {
	again 0 "$1" --sim --quick --quiet
	[ ! -s "$folder/err" ] || fault "$1 is not quiet"
	cp "$folder/out" "$folder/before"
	again 0 "$1" --sim --quick --quiet
	cmp "$folder/before" "$folder/out" || fault "$1: not the same twice"
}

# ------------------------------------------------------------------- the list
again 0
for name in ctp-table1 ctp-fig5 ctp-table2 ctp-packing; do
	has "^$name  "
done
refused ctp-table3
grep -q 'did you mean .*ctp-table[12]' "$folder/err" || fault "no nearest name"
refused ctp-table2 --runs 0
refused ctp-table2 --runs 5s
refused ctp-table2 --plot picture.txt
refused ctp-table2 more

# ------------------------------------------------------------------ the claims
experiment ctp-table1
has '^  CTP-Bulk .*\[0.3800 +- 0.0090\].*\[68.31'
has '^  TCP  *\[0.1620'
holds "in the wide area the path hides"
holds "CTP-Minimal's bandwidth competes with UDP's"
holds 'in the wide area what has no congestion control is fastest'
has '^  not testable  *in the wide area UDP has 61.54'

experiment ctp-fig5
has '^5(a) wide area, simulated'
has '^5(c) wide area, simulated: CTP-Bulk'
holds 'in the wide area CTP-Bulk cannot .* what CTP-Audio can'
holds 'in the wide area CTP-Bulk cannot .* what UDP can'
holds 'CTP-Audio delivers more on time than UDP at 5 %'
holds 'CTP-Audio delivers more on time than UDP at 10 %'
holds 'CTP-Bulk is increasingly late'
holds 'in the local area UDP and CTP-Audio compare the same'

experiment ctp-table2
has '^  5  *\[16.00 +- 25.00\]  *0\.[0-9]* '
holds 'ours: CTP-Bulk under loss is no slower'
holds 'ours: it is the timer'
holds 'ours: copies from the start beat'
again 0 ctp-table2 --sim --quick --quiet --seed 5
! cmp -s "$folder/before" "$folder/out" || fault "another seed is the same"

again 0 ctp-packing --sim --runs 1 --quick --quiet
has '^  CTP-Minimal  *5.000 \[68.00\]'
holds 'CTP-Bulk: headers of'

# -------------------------------------------------------------- words and forms
again 0 ctp-table2 --sim --quick --quiet --rows request --json
has '"schema": "nopal.report"'
has '"measurement": "ctp-table2"'
has '"column": "request"'
has '"verdict": "not measured"'
! grep -q '"column": "CTP-Bulk"' "$folder/out" || fault "a row that was not wanted"
again 1 ctp-table2 --sim --quick --rows no_such_row
if command -v gnuplot >/dev/null; then
	again 0 ctp-fig5 --sim --runs 1 --quick --quiet --paths wan \
		--plot "$folder/plot.svg"
	grep -q '5(a)' "$folder/plot.svg" || fault "no plot"
fi

# ------------------------------------------------------------------------- live
again 0 ctp-table1 --live --quick --quiet --paths lo --rows udp,tcp,ctp_minimal
has '^  CTP-Minimal  *[0-9]'
# an emulated link, or a plain word where there can be none
code=0
timeout 100 "$nopal" reproduce ctp-table2 --live --runs 1 --rows ctp_bulk,tcp \
	>"$folder/out" 2>"$folder/err" || code=$?
case $code in
0) has '^  5  *[0-9].*\[16.00.*\[2.400' ;;
77) grep -q '^note: no rows over an emulated link: ' "$folder/err" ||
	fault "skipped, and not a word" ;;
*) fault "live: exit $code" ;;
esac
. "$(dirname "$0")/nobody.sh"
if nobody_copy; then
	code=0
	as_nobody reproduce ctp-table2 --live --paths lan >"$folder/out" \
		2>"$folder/err" || code=$?
	[ $code = 77 ] || fault "without root: exit $code"
	grep -q 'they need root' "$folder/err" || fault "no word of root"
fi
