#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce_madp PROGRAM -- MADP's table, figures and checksums, short: their figures beside the
# paper's, the claims of shape hold in virtual time, the same seed gives the same table, and live
# rows are begun, or left out with a plain word.
. "$(dirname "$0")/said.sh"
"$nopal" check madp >/dev/null 2>&1 || { echo "a build without MD5: skipped"; exit 77; }
# again CODE EXPERIMENT WORDS...
again() {
	wanted=$1 experiment=$2
	shift 2
	code=0
	timeout 200 "$nopal" reproduce "madp-$experiment" "$@" --quiet \
		>"$folder/out" 2>"$folder/err" || code=$?
	[ $code = "$wanted" ] || fault "$experiment $*: exit $code, not $wanted"
	[ $code = 77 ] || [ ! -s "$folder/err" ] || fault "$experiment is not quiet"
}
holds() { grep -q "^  holds  *$1" "$folder/out" || fault "does not hold: $1"; }

again 0 table1 --sim --runs 10
has '^madp-table1: mean +- 95 % interval'
has '^  Benchmark  *9\.[0-9]* .*\[1\.425\].*\[7\.335\]'
has '^  Packet Loss 15%  *[0-9.]* .*\[0\.6474\].*\[0\.0043\]'
has '^  Packet Delay (Uniform) 100ms  *[0-9.]* .*\[4\.483\].*\[2\.285\]'
has '^note: of the table.s uniform delay'
for row in 'Loss 5%' 'Loss 15%' 'Corruption 10%' 'Duplicate 10%'; do
	holds "Packet $row: madp keeps the share"
	holds "Packet $row: bulk keeps the share"
done
holds 'a dynamic window is no improvement'
has '^  not measured  *Packet Loss 5%: madp is faster than TCP'

again 0 fig4 --sim --quick --seed 3
has '^  10  *[0-9.]* .*\[0\.6714\]'
cp "$folder/out" "$folder/before"
again 0 fig4 --sim --quick --seed 3
cmp "$folder/before" "$folder/out" || fault "not the same twice"
again 0 fig4 --sim --quick --seed 4
! cmp -s "$folder/before" "$folder/out" || fault "another seed is the same"
again 0 fig5 --sim --quick --rows madp --json
has '"measurement": "madp-fig5"'
has '"interval": [0-9]'
! grep -q '"column": "bulk"' "$folder/out" || fault "a row that was not wanted"
again 0 fig6 --sim --quick --paths clean,duplicate10
has '^figure 6, time to download, simulated; 10 kB'
again 0 fig7 --sim --quick --rows bulk
holds '7230 chunks take seconds'
has '^  7230 chunks  *2\.[0-9]'

again 0 checksums --sim --quick
has '^  md5  *0.0000  *0.0000  *0.0000  *0.0000'
has '^  md5  *16.00'
holds "ours: the emulated link's flip"
holds 'ours: words in another order pass'

# live, a column each of ours and of the kernel's
code=0
timeout 100 "$nopal" reproduce madp-table1 --live --quick --runs 1 --rows madp,tcp \
	--paths clean,loss10 --quiet >"$folder/out" 2>"$folder/err" || code=$?
case $code in
0) has '^  Packet Loss 10%  *[0-9].*\[0\.7049\]' && has '^note: madp: [0-9]* of 12 rows' ;;
77) grep -q '^note: no rows over an emulated link: ' "$folder/err" ||
	fault "skipped, and not a word" ;;
*) fault "live: exit $code" ;;
esac
