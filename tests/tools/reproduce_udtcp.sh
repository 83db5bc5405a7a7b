#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce_udtcp PROGRAM -- UDTCP against TCP, short: the shape of what the paper claims
# holds in virtual time, each of its four changes is of use, and the same seed gives the
# same tables.
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

again 0 udtcp-analysis --sim
has '^  10  *[0-9.]* \[22\.22\]  *[0-9.]* \[2\.222\]'
has '^  20  *[0-9.]* \[12\.12\]  *[0-9.]* \[0\.6061\]'
! grep -q '^  does not hold' "$folder/out" || fault "the analysis does not hold"

again 0 udtcp-changes --sim --quick --runs 1
holds '1 and 4: a send buffer of one message limits'
holds '1: what is lost and leaves again comes late'
holds '2: messages that wait for holes are late'
! grep -q warning "$folder/err" || fault "a warning"

# a queue that holds all send buffers is not overflown
again 0 udtcp-fig7 --sim --quick --runs 1 --rows udtcp,udtcp_tcp,fresh
holds 'configuration 1, simulated: at every deadline .* of TCP, half more'
holds 'UDTCP loses no more than twice'
holds 'UDTCP loses no less than half'
holds 'ours: the slowest hundredth of fresh'
has '^  UDTCP .* \[0\.5000\]'
has '^note: configuration 1: 5 send buffers of 22 messages'
! grep -q '^  TFRC' "$folder/out" || fault "a row that was not wanted"

again 0 udtcp-fig10 --sim --quick --runs 1 --rows udtcp,udtcp_tcp
holds 'configuration 2, simulated: at every deadline .* of TCP$'
holds 'configuration 2, simulated: at every deadline .* of TCP, half more'
holds 'UDTCP loses no more than twice'
holds 'UDTCP loses no less than half'
holds 'the longer the path, the more messages of TCP are late'
cp "$folder/out" "$folder/before"
again 0 udtcp-fig10 --sim --quick --runs 1 --rows udtcp,udtcp_tcp
cmp "$folder/before" "$folder/out" || fault "not the same twice"

for figure in 5 6 8 9; do
	again 0 "udtcp-fig$figure" --sim --quick --runs 1
	has '^  500  *[0-9]'
done
again 0 udtcp-fig7 --sim --quick --runs 1 --rows fixed,tfrc,bbr
has '^  TFRC  *[0-9]'
has '^  2\.1 Mbit/s  *[0-9]'
has '^  BBR  *[0-9]'

# live: an emulated link, or a plain word why there is none
code=0
timeout 200 "$nopal" reproduce udtcp-fig6 --live --quick --runs 1 --quiet \
	>"$folder/out" 2>"$folder/err" || code=$?
case $code in
0) has '^configuration 1, live: delays' && has '^  UDTCP  *[0-9]' ;;
77) grep -q '^note: no rows over an emulated link' "$folder/err" || fault "not a word" ;;
*) fault "live: exit $code" ;;
esac
again 77 udtcp-analysis --live
