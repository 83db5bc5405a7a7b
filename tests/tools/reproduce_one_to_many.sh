#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce_one_to_many PROGRAM -- the tables of a file there and back, short: their
# figures beside the paper's, the claims of shape hold in virtual time, the same seed
# gives the same table, and what is there live has its columns.
. "$(dirname "$0")/said.sh"
# again CODE TABLE WORDS...
again() {
	wanted=$1 table=$2
	shift 2
	code=0
	timeout 200 "$nopal" reproduce "one-to-many-table$table" "$@" --quiet \
		>"$folder/out" 2>"$folder/err" || code=$?
	[ $code = "$wanted" ] || fault "$table $*: exit $code, not $wanted"
}
holds() { grep -q "^  holds  *$1" "$folder/out" || fault "does not hold: $1"; }

again 0 1 --sim --quick --runs 1
has '^  4  *1\.[0-9]* \[6\.784\]  *11\.'
has '^note: .* 54 ms for each window'
holds 'the time grows no faster than the file'
holds 'a window of one packet takes longer'
holds 'where packets are lost, selective repeat is faster'
holds 'a fixed wait of the paper'

again 0 2 --sim --quick --runs 1
has '^  4  *[0-9.]* \[1\.654\]'
holds 'the time grows no faster than the file'
holds 'a window of one packet takes longer'
holds 'ours: 8096 bytes in a window of 128 are faster'
grep -q '^  does not hold  *8096 bytes, a window of 128 and a wait of 10 ms' "$folder/out" ||
	fault "a wait of 10 ms does"
holds 'where packets are lost, fragments cost more'
holds 'where fragments are lost, 1024 bytes are faster'
# a window takes longer to cross the link than the paper's wait
grep -q '^  does not hold  *a fixed wait' "$folder/out" || fault "10 ms are enough"
cp "$folder/out" "$folder/before"
again 0 2 --sim --quick --runs 1
cmp "$folder/before" "$folder/out" || fault "not the same twice"
again 0 2 --sim --quick --runs 1 --seed 5
! cmp -s "$folder/before" "$folder/out" || fault "another seed is the same"

# three receivers that differ
timeout 200 "$nopal" reproduce one-to-many-balance --quick --runs 1 --quiet \
	>"$folder/out" 2>"$folder/err" || fault "balance: exit $?"
holds 'ours: all at once, balance takes less time than turns'
holds 'ours: all at once, balance is near the best possible'
holds "ours: a stream's messages are answered sooner"

again 0 3 --sim --quick --runs 1 --rows go_back_n --json
has '"measurement": "one-to-many-table3"'
has '"column": "as there"'
! grep -q '"column": "bulk"' "$folder/out" || fault "a row that was not wanted"

# live, where the one that says nothing of itself may not have been built
again 0 2 --live --quick --runs 1
has '^  4  *[0-9.]* \[1\.654\]  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9]'
if [ -x "$(dirname "$nopal")/../tests/bench/echo_udt" ]; then
	has 'UDT s'
	again 0 3 --live --quick --runs 1 --rows udt
fi
code=0
NOPAL_BENCH_DIR=/nonexistent timeout 20 "$nopal" reproduce one-to-many-table1 --live \
	--rows udt --quiet >"$folder/out" 2>"$folder/err" || code=$?
[ $code = 77 ] || fault "without its program: exit $code"
grep -q 'no column of UDT' "$folder/err" || fault "without its program: not a word"
! grep -q 'not all came back' "$folder/out" || fault "a transfer was not whole"
