#!/bin/sh
# SPDX-License-Identifier: MIT
# crash PROGRAM PLUGIN -- a plugin dies in a handler or a timer, simulated, live and
# between layers: the program's last words name it, what it handled and when; the signal
# takes its course; and a simulated crash is the same twice.
. "$(dirname "$0")/said.sh"
plugin=$(cd "$(dirname "$2")" && pwd)
NOPAL_PLUGINS=$plugin NOPAL_FUSED=off ASAN_OPTIONS=detect_leaks=0
export NOPAL_PLUGINS NOPAL_FUSED ASAN_OPTIONS
ulimit -c 0
cat >"$folder/one.conf" <<'END'
plugin = "a_crasher"
extends = "bulk_cubic"
a_crasher {}
END
cat >"$folder/two.conf" <<'END'
plugin = "a_crasher"
layer "upper" {
  transport_driver   {}
  fixed_size         { mtu = 1500B }
  a_crasher          {}
}
layer "lower" {
  transport_driver   {}
  virtual_circuit    {}
  fixed_size         { mtu = 1500B }
  checksum           {}
}
END

# dies SIGNAL WORDS...: what `$folder/err` holds is one line a layer.
dies() {
	signal=$1
	shift
	code=0
	timeout 30 "$nopal" "$@" >"$folder/out" 2>"$folder/err" || code=$?
	grep -q "^nopal: a crash ($signal) " "$folder/err" || fault "$*: no last words"
	[ $code != 0 ] && [ $code != 124 ] || fault "$*: exit $code"
}
says() { grep -q -E -e "$1" "$folder/err" || fault "no '$1'"; }
sim() {
	dies "$1" sim "$folder/$2.conf" --link "delay 10ms" --bytes 100kB --size 1kB \
		--set "$3"
}
when='[0-9]+\.[0-9]{9} s'

sim SIGSEGV one a_crasher.how=write
says "while \`a_crasher\` handled SEGMENT_FROM_NET at $when \(session [0-9a-f]{8}\)\$"
grep '^nopal: a crash' "$folder/err" >"$folder/first"
sim SIGSEGV one a_crasher.how=write
grep '^nopal: a crash' "$folder/err" | cmp - "$folder/first" ||
	fault "another place the second time"
sim SIGSEGV one a_crasher.how=call
says "while \`a_crasher\` handled SEGMENT_FROM_NET at $when"
sim SIGABRT one a_crasher.how=abort
says "while \`a_crasher\` handled SEGMENT_FROM_NET at $when"
sim SIGSEGV one a_crasher.how=timer
says "while \`a_crasher\` was called by its timer soon at $when"

# between layers each that is at work is named
sim SIGSEGV two a_crasher.how=write
says "while \`a_crasher\` handled SEGMENT_FROM_NET at $when .*, layer upper\)\$"

# live, in the receiver, whose time is the clock's
"$nopal" recv -c "$folder/one.conf" -o "$folder/in" --listen 127.0.0.1:0 \
	>"$folder/out" 2>"$folder/err" &
receiver=$!
i=0
until grep -q '^listening on' "$folder/err"; do
	i=$((i + 1))
	[ $i -le 200 ] || fault "the receiver does not listen"
	sleep 0.05
done
to=$(sed -n 's/^listening on \([0-9.:]*\);.*/\1/p' "$folder/err")
"$nopal" send -c "$folder/one.conf" --set a_crasher.after=1000 "$nopal" "$to" \
	>/dev/null 2>&1 &
sender=$!
wait $receiver && fault "the receiver did not die"
kill $sender 2>/dev/null || true
wait $sender || true
says "^nopal: a crash \(SIGSEGV\) while \`a_crasher\` handled SEGMENT_FROM_NET at $when"
