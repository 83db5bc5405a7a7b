#!/bin/sh
# SPDX-License-Identifier: MIT
# graph.sh NOPAL -- `nopal graph`: pictures of every config name all their events and
# microprotocols, and are at most 1600 dots wide at 96 an inch, where Graphviz is there to
# say so; --event and --part show a piece; names that are not there are refused.
. "$(dirname "$0")/said.sh"
graph() { "$nopal" graph "$@" >"$folder/out" 2>"$folder/err" || fault "graph $*: exit $?"; }
refused() {
	"$nopal" graph "$@" >"$folder/out" 2>"$folder/err" && fault "graph $*: not refused"
	[ $? -eq 2 ] || fault "graph $*: exit $?"
	grep -q "$said" "$folder/err" || fault "graph $*: no '$said'"
}
# The width of what is in `out`, in points of 1/72 inch.
fits() {
	command -v dot >/dev/null || return 0
	dot -Tplain "$folder/out" >"$folder/plain" 2>"$folder/err" || fault "$*: no graph"
	[ ! -s "$folder/err" ] || fault "$*: Graphviz complains"
	dot -Tsvg "$folder/out" >"$folder/svg"
	width=$(sed -n 's/^<svg width="\([0-9]*\)pt".*/\1/p' "$folder/svg")
	[ "${width:-9999}" -le 1200 ] || fault "$*: $width points wide"
}

for config in configs/*.conf; do
	graph "$config"
	sed -n '/^events/,/^$/s/^  \([A-Z_]*\) .*/\1/p' "$folder/out" >"$folder/names"
	[ -s "$folder/names" ] || fault "$config: no events"
	sed -n '/^holds/,/^$/s/^  [a-z]*  *\([a-z_0-9]*\) .*/\1/p' "$folder/out" >>"$folder/names"
	graph "$config" --dot
	sort -u "$folder/names" >"$folder/wanted"
	grep -owF -f "$folder/wanted" "$folder/out" | sort -u | cmp -s - "$folder/wanted" ||
		fault "$config: its picture lacks names"
	case $config in */bulk.conf | */streams.conf | */one_to_many_all.conf) fits "$config" ;; esac
done

graph bulk --event SEGMENT_FROM_NET
has 'SEGMENT_FROM_NET .* positive_ack > windowed_flow'
has 'segment_window '
grep -q SEGMENT_TO_NET "$folder/out" && fault "another event"
graph bulk --event SEGMENT_FROM_NET --dot
has 'h0 -> h1'
grep -q retransmit "$folder/out" && fault "no handler of the event"
fits --event
graph bulk --part retransmit
has '^  SEGMENT_LOST'
has '^  deallocate  retransmit'
has 'reliability_unmet .* windowed_flow'
grep -q smoothed_rtt_ns "$folder/out" && fault "a variable of others"
graph bulk --part retransmit --dot
has 'handler 2 of 6, after positive_ack'
has 'reliability_unmet" -> to'
has 'part:e -> SEGMENT_RESEND'
fits --part

said='did you mean `SEGMENT_LOST`' refused bulk --event SEGMENT_LOSS
said='did you mean `retransmit`' refused bulk --part retransmitt
said='exclude each other' refused bulk --part retransmit --event SEGMENT_LOST
command -v dot >/dev/null || { echo "no Graphviz here: widths are not measured"; exit 77; }
