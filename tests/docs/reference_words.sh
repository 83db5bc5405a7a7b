#!/bin/sh
# SPDX-License-Identifier: MIT
# reference_words SOURCE PROGRAM -- the reference pages are complete and their examples work.
#
# Words come from the program where it tells them (the fields of its JSON, the remedies of its
# problems), and from the calls that make JSON in tools/ where a run would take long.  Each must
# stand on its page in backquotes.  Each file of a page is checked; one that is called refused_*
# must be refused.  Each command of a page (`$ nopal ...`) must end well.
set -eu
source=$1 program=$(realpath "$2")
docs=$source/docs
export NOPAL_FUSED=off NOPAL_CONFIGS="$source/configs"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir bin
ln -s "$program" bin/nopal
PATH=$folder/bin:$PATH
: >faults

# page_has PAGE LEAST -- the words of the input, at least so many, are on the page in backquotes
page_has() {
	sort -u >words
	grep -o '`[^`]*`' "$docs/$1" | tr -d '`' | sort -u >there
	comm -23 words there | sed "s|.*|docs/$1: no word \`&\`|" >>faults
	[ "$(wc -l <words)" -ge "$2" ] ||
		echo "docs/$1: only $(wc -l <words) words were found, $2 are expected" >>faults
}

# ---- the language of configs: what a problem offers in place of a word that there is not
offered() { # TEXT: a config with one mistake
	printf '%s\n' "$1" >wrong.conf
	nopal check wrong.conf 2>&1 | grep -A1 '^wrong.conf:1: ' | sed -n "s/^  fix: $2//p"
}
{
	offered 'zzzzzz = 1' 'keys here are'
	offered 'layer "a" { zzzzzz = 1 }' 'keys here are'
	offered 'layer "a" { multiplicity = zzzzzz }' 'write one of:'
	offered 'requires = zzzzzz' 'write one of:'
} | tr -s ' ' '\n' | grep . | page_has config-language.md 16
for key in resize.mtu keep_alive.timeout; do
	nopal check bulk --set $key=1 2>&1 || true
done | sed -n 's/^  fix: .*(\(.*\)).*/\1/p' | tr -s ' ' '\n' | page_has config-language.md 14

# ---- words of a link
for link in zzzzzz 'delay 1ms 1ms distribution zzzzzz' 'loss zzzzzz'; do
	nopal sim bulk --link "$link" 2>&1 | sed -n 's/^  fix: one of://p'
done | tr -s ' ' '\n' | grep . | page_has link-words.md 19
nopal sim bulk --topology zzzzzz 2>&1 | sed -n 's/^  fix: write \(.*\), N .*/\1/p' |
	sed 's/ or /, /' | tr -s ', ' '\n' | page_has link-words.md 3

# ---- JSON: the fields of documents that are made quickly
nopal sim bulk --bytes 20kB --json --trace run.trace --trace-detail events >sim.json
nopal sim bulk --bytes 200kB --every 20ms --jsonl >moments.json
nopal trace run.trace --to json >trace.json
printf 'zzzzzz {}\n' >wrong.conf
nopal check bulk wrong.conf --json >check.json 2>&1 || true
nopal explain multicast --json | # but values of parameters, by their names
	awk '/"parameters": \{/ { inside = !/\}/; print; next }
		inside { inside = !/\}/; next } { print }' >explain.json
nopal list microprotocols --json >list.json
nopal graph bulk --json | # but names of events, attributes and microprotocols
	awk '/^  "/ { holds = /"holds"/ } /^  "/ || holds' >graph.json
nopal bench streams --rounds 1 --count 2 --quiet --json bench.json >bench.log
nopal reproduce ctp-table2 --sim --quick --runs 1 --quiet --json >reproduce.json
for document in *.json; do
	[ -s "$document" ] || echo "$document is empty" >>faults
done
cat ./*.json | grep -oE '"[^"\\]+": ?[^ ]' | cut -d\" -f2 | sort -u |
	page_has json.md 150

# ---- JSON: fields in the calls that make it
find "$source/tools" -name '*.c' -exec cat {} + | tr '\n\t' '  ' | tr ';' '\n' |
	grep -E 'json_pack\(|json_object_set_new\(|put(_time|_text|_hex)?\(object|json_set\(object' |
	sed 's/^.*\(json_pack(\|json_object_set_new(\|put[a-z_]*(object\|json_set(object\)/\1/' |
	grep -oE '"[a-z][a-z0-9_]*"' | tr -d '"' | page_has json.md 100

# ---- the examples
for page in config-language.md link-words.md json.md; do
	sed -n 's/^<!-- file: \(.*\) -->$/\1/p' "$docs/$page" | while read -r name; do
		awk -v name="$name" -f "$source/tests/docs/extract.awk" "$docs/$page" >"$name"
		expected=0
		case $name in refused_*) expected=2 ;; esac
		code=0
		nopal check "$name" >log 2>&1 || code=$?
		[ $code -eq $expected ] || { echo "docs/$page: $name: exit $code"; cat log; }
	done >>faults
	sed -n '/^```console$/,/^```$/s/^\$ //p' "$docs/$page" >commands
	while read -r command; do
		expected=0
		case $command in *refused_*) expected=2 ;; esac
		code=0
		sh -c "$command" >log 2>&1 </dev/null || code=$?
		[ $code -eq $expected ] || { echo "docs/$page: $command: exit $code"; cat log; }
	done <commands >>faults
done

cat faults
[ ! -s faults ]
