#!/bin/sh
# SPDX-License-Identifier: MIT
# send_streams.sh -- a file to receivers with several streams, over loopback; and a quorum that does
# not wait for the dead.
#
#   send_streams.sh PROGRAM        (or $NOPAL; exit 77: it cannot run here)
. "$(dirname "$0")/many.sh"

# ---- two streams to the first receiver, one to the second: each has the file, once
head -c 20000000 /dev/urandom >"$work/file" || exit 77
receivers 2 one_to_many_streams
send 0 "$work/file" $to_1 $to_1 $to_2 -c one_to_many_streams --json
same 1 2
grep -q '"complete":2' "$work/send.json" || fail "no JSON of two"
grep -q '"streams":2' "$work/send.json" || fail "no JSON of two streams"
grep -q '"verdict":"broken"' "$work/send.json" && fail "a good run breaks a promise"
row 1 'complete .*by 2 streams'
send 0 "$work/file" $to_1 $to_2 $to_1 -c one_to_many_streams
for i in 1 2; do row $i 'was there'; done

# ---- a config without streams has each address once
send 2 "$work/file" $to_1 $to_1 -c one_to_many_all

# ---- two files
head -c 300000 /dev/urandom >"$work/second"
rm "$work/1/file"
send 0 "$work/file" "$work/second" $to_1 $to_1 $to_1 $to_2 -c one_to_many_streams
cmp "$work/file" "$work/1/file" || fail "the first file differs"
cmp "$work/second" "$work/1/second" || fail "the second file differs"

# ---- of three receivers one is dead: the other two are not kept waiting for it
receivers 2 one_to_many_quorum
before=$(date +%s)
send 0 "$work/file" $to 127.0.0.1:9 -c one_to_many_quorum
took=$(($(date +%s) - before))
same 1 2
grep -q '127.0.0.1:9 .*no answer' "$work/send.log" || fail "the dead one is not told"
echo "a quorum of two, with one dead: $took s" >&2
[ "$took" -lt 10 ] || fail "it waited $took s for the dead"
