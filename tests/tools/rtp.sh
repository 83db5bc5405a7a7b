#!/bin/sh
# SPDX-License-Identifier: MIT
# rtp.sh PROGRAM -- programs that know nothing of us: ffmpeg speaks RTP with
# `nopal stream -c rtp_audio` in both directions, and a peer of ten lines UDP with
# `-c plain_udp`.  What arrives is byte by byte what was sent, but for packets
# before the other side was there.  Skipped without ffmpeg or python3.
set -eu
nopal=$1
packet=160 # bytes: 20 ms of PCMU
for program in ffmpeg python3; do
	command -v $program >/dev/null || {
		echo "no $program: skipped"
		exit 77
	}
done
folder=$(mktemp -d)
pids=
stop() {
	for process in $pids; do
		kill "$process" 2>/dev/null || true
	done
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM
wrong() {
	echo "FAILED: $*"
	tail -n 20 "$folder"/*.log
	exit 1
}
# until_true WHAT COMMAND...: half a minute at most.
until_true() {
	what=$1
	tries=0
	shift
	until "$@" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || wrong "$what"
		sleep 0.05
	done
}
bytes() {
	wc -c <"$1"
}
has_bytes() {
	[ "$(bytes "$1")" -ge "$2" ]
}
# same_run SENT GOT: GOT is SENT from some packet on, and 95 % of it or more.
same_run() {
	sent=$(bytes "$1")
	got=$(bytes "$2")
	[ $((got * 100)) -ge $((sent * 95)) ] || wrong "$got of $sent bytes came"
	from=0
	while [ $((from + got)) -le "$sent" ]; do
		! cmp -s -i $from:0 -n "$got" "$1" "$2" || return 0
		from=$((from + packet))
	done
	wrong "other bytes than those sent"
}
# listen NAME WORDS...: leaves $listener and $port.
listen() {
	name=$1
	shift
	"$nopal" stream --listen 127.0.0.1:0 "$@" >"$folder/$name" \
		2>"$folder/$name.log" &
	listener=$!
	pids="$pids $listener"
	until_true "no listener" grep -q '^listening on' "$folder/$name.log"
	port=$(sed -n 's/^listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$folder/$name.log")
}
# A port that nobody has: for who cannot say which one it took.
free_port() {
	python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}
is_bound() {
	grep -q ":$(printf %04X "$1") " /proc/net/udp
}

# ------------------------------------------- ffmpeg sends RTP, stream receives
# A tone that rises, so that no stretch of it is like another.
tone() {
	ffmpeg -nostdin -hide_banner -loglevel warning "$@"
}
sound="aevalsrc=0.5*sin(2*PI*(300+200*t)*t):s=8000:d=2:n=$packet"
tone -f lavfi -i "$sound" -c:a pcm_mulaw -f mulaw "$folder/tone"
listen heard -c rtp_audio --set timestamp_jitter.late=deliver --idle 2s
timeout 60 ffmpeg -nostdin -hide_banner -loglevel warning -re -f lavfi \
	-i "$sound" -c:a pcm_mulaw -f rtp "rtp://127.0.0.1:$port" \
	>"$folder/sdp.log" 2>"$folder/ffmpeg.log" || wrong "ffmpeg did not send"
wait $listener || wrong "stream did not end well"
same_run "$folder/tone" "$folder/heard"

# ------------------------------------------- stream sends RTP, ffmpeg receives
head -c 16000 /dev/urandom >"$folder/sound"
port=$(free_port)
cat >"$folder/session.sdp" <<END
v=0
o=- 0 0 IN IP4 127.0.0.1
s=tone
c=IN IP4 127.0.0.1
t=0 0
m=audio $port RTP/AVP 0
END
ffmpeg -nostdin -hide_banner -loglevel warning \
	-protocol_whitelist file,udp,rtp -i "$folder/session.sdp" \
	-c:a copy -flush_packets 1 -f mulaw "$folder/taken" \
	2>"$folder/taker.log" &
taker=$!
pids="$pids $taker"
until_true "ffmpeg does not listen" is_bound "$port"
timeout 60 "$nopal" stream "127.0.0.1:$port" -c rtp_audio \
	--in "file:$folder/sound" --size ${packet}B --rate 64kbit \
	>"$folder/sender.log" 2>&1 || wrong "stream did not send"
until_true "ffmpeg heard too little" has_bytes "$folder/taken" 15200
kill -INT $taker
wait $taker || true
same_run "$folder/sound" "$folder/taken"

# --------------------------------------------- plain UDP, both ways, both roles
cat >"$folder/peer.py" <<'END'
"""Sends every datagram back, its bytes in reverse; and says how long it was."""
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(("127.0.0.1", 0))
print(peer.getsockname()[1], flush=True)
while True:
    data, sender = peer.recvfrom(65536)
    print(len(data), flush=True)
    peer.sendto(data[::-1], sender)
END
python3 "$folder/peer.py" >"$folder/peer.out" 2>"$folder/peer.log" &
pids="$pids $!"
until_true "no peer" has_bytes "$folder/peer.out" 2
port=$(head -1 "$folder/peer.out")
mkfifo "$folder/fifo"
"$nopal" stream "127.0.0.1:$port" -c plain_udp --in pipe: --out pipe: \
	--size 100B <"$folder/fifo" >"$folder/back" 2>"$folder/opener.log" &
opener=$!
pids="$pids $opener"
exec 3>"$folder/fifo"
head -c 2000 "$folder/sound" >&3
until_true "not all came back" has_bytes "$folder/back" 2000
exec 3>&-
wait $opener || wrong "the opener did not end well"
[ "$(sed 1d "$folder/peer.out" | sort | uniq -c | tr -s ' ')" = " 20 100" ] ||
	wrong "the peer did not get 20 datagrams of 100 bytes"
python3 -c 'import sys
sent, back = (open(name, "rb").read(2000) for name in sys.argv[1:])
runs = range(0, 2000, 100)
sys.exit(back != b"".join(sent[at:at + 100][::-1] for at in runs))' \
	"$folder/sound" "$folder/back" || wrong "other bytes came back"

listen plain -c plain_udp --idle 1s
python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for length in range(20):
    s.sendto(bytes(range(length)), ("127.0.0.1", int(sys.argv[1])))' "$port"
wait $listener || wrong "stream did not end well"
python3 -c 'import sys
sys.stdout.buffer.write(b"".join(bytes(range(n)) for n in range(20)))' |
	cmp - "$folder/plain" || wrong "other datagrams than those sent"
echo "RTP and UDP in both directions"
