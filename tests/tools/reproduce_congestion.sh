#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce_congestion PROGRAM -- the table of congestion policies, short: every
# policy has its rows, the claims of shape hold, the same seed gives the same table.
. "$(dirname "$0")/said.sh"
# again CODE WORDS...
again() {
	wanted=$1
	shift
	code=0
	timeout 200 "$nopal" reproduce congestion-table "$@" --quiet \
		>"$folder/out" 2>"$folder/err" || code=$?
	[ $code = "$wanted" ] || fault "$*: exit $code, not $wanted"
}
holds() { grep -q "^  holds  *$1" "$folder/out" || fault "does not hold: $1"; }

again 0 --sim --quick --runs 1
for policy in reno newreno cubic cubic_paced westwood scalable highspeed bic vegas \
	fast scp bbr tfrc udt; do
	rows=$(grep -c "^  $policy  *[0-9].* [0-9]" "$folder/out")
	[ "$rows" = 3 ] || fault "$policy has $rows rows, not 3"
done
holds 'one flow fills the link'
holds 'what watches delay keeps the queue short'
holds 'two flows that wait for loss share the link evenly'
holds 'what watches delay yields to newreno'
holds 'tfrc has within a factor of two'

again 0 --sim --quick --runs 1 --rows vegas,bbr --seed 3
cp "$folder/out" "$folder/before"
again 0 --sim --quick --runs 1 --rows vegas,bbr --seed 3
cmp "$folder/before" "$folder/out" || fault "not the same twice"
again 0 --sim --quick --runs 1 --rows vegas,bbr --seed 4
! cmp -s "$folder/before" "$folder/out" || fault "another seed is the same"
! grep -q '^  cubic ' "$folder/out" || fault "a row that was not wanted"

# there is nothing live about it
again 77 --live
grep -q 'simulator' "$folder/err" || fault "live: not a word"
