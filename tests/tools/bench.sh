#!/bin/sh
# SPDX-License-Identifier: MIT
# bench PROGRAM -- `nopal bench bulk` makes figures of what its script prints, and
# none of what is not sound.  The script is one of this test's own.
. "$(dirname "$0")/said.sh"

side() { # BYTES WRONG CLASS WAITED: a side's report
	printf '{"class":"%s","delivered_bytes":%s,"wrong_bytes":%s,"seconds":2,' \
		"$3" "$1" "$2"
	printf '"cpu_s":0.5,"waited_s":%s,"rcvbuf":8,"version":"9.9"}' "$4"
}
line() { # ROUND ROW BYTES WRONG CLASS WAITED
	printf '{"path":"V","round":%d,"row":"%s","softirq_s":0,"send":%s,"recv":%s}\n' \
		"$1" "$2" "$(side 0 0 "$5" 0)" "$(side "$3" "$4" "$5" "$6")"
}
{
	echo '{"left_out":"enet","program":"peer_enet"}'
	line 0 raw-crc 4000000000 0 crc 0.01
	line 0 ours 2000000000 0 crc 0.01
	line 1 ours 1000000000 8 crc 0.01
	line 1 raw-crc 4000000000 0 crc 0.5
	line 1 tcp 8000000000 0 none 0
	echo '{"path":"V","round":1,"row":"srt","softirq_s":0,"send":null,"recv":null}'
	echo 'this is no JSON'
} >"$folder/lines"
echo "echo \"\$@\" >$folder/words; cat $folder/lines" >"$folder/veth.sh"

NOPAL_BENCH_DIR=$folder
export NOPAL_BENCH_DIR
"$nopal" bench bulk ours --rounds 2 --seconds 0.5 --paths V --json "$folder/json" \
	>"$folder/out" 2>"$folder/err" || fault "nopal bench failed"

# 2 GB in 2 s are 8 Gbit/s, half of the ceiling's; 0.5 s a side are 0.5 s/GB
has 'ours  *8.000  *0.5000  *0.50  *2.00'
has 'raw-crc  *16.00  *0.2500  *1.00 (1.00..1.00)  *1.00 (1.00..1.00)  *0.50'
has 'note: ours on V, round 2: wrong bytes'
has 'note: srt on V, round 2: nothing was delivered'
has 'note: enet is left out, peer_enet'
has 'note: 1 of 4 runs waited for a core'
grep -q 'this is no JSON' "$folder/err" || fault "a broken line was swallowed"
grep -q '"ours": "9.9; rcvbuf 8' "$folder/json" || fault "no version in the document"
grep -q -e '-n 2 -t 0.500 -p V' "$folder/words" || fault "words: $(cat "$folder/words")"
grep -q 'ours,ours-again=ours$' "$folder/words" || fault "no control"

# a machine that cannot is skipped, and empty results are no success
echo 'exit 77' >"$folder/veth.sh"
code=0; "$nopal" bench bulk >"$folder/out" 2>"$folder/err" || code=$?
[ $code = 77 ] || fault "77 became $code"
echo 'exit 0' >"$folder/veth.sh"
code=0; "$nopal" bench bulk >"$folder/out" 2>"$folder/err" || code=$?
[ $code = 1 ] || fault "nothing measured, and the exit is $code"
for words in '--seconds x' '--seconds -1' '--rounds 0' '--rounds 5s' '--size 3' '--count 4'; do
	code=0
	# shellcheck disable=SC2086 # an option and its value
	"$nopal" bench bulk $words >"$folder/out" 2>"$folder/err" || code=$?
	[ $code = 2 ] || fault "$words: exit $code"
	grep -q 'fix:' "$folder/err" || fault "$words: no fix"
done
