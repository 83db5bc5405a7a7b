#!/bin/sh
# SPDX-License-Identifier: MIT
# own.sh NOPAL SOURCE -- what is said of a student's own cases: of a file that is none, of cases that
# a right part fails, and of cases that a wrong part passes.
set -eu
nopal=$1 source=$2
lab=02-vanilla-udp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_FUSED=off
cp "$source/tests/labs/$lab/reference.c" "$folder/vanilla.c"
echo "$lab" >"$folder/lab.txt"
own=$folder/my_cases.txt

says() { # COMMAND TEXT TIMES: what `nopal lab` says, and how often
	"$nopal" lab "$1" --seeds 1 "$folder" >"$folder/said" 2>&1 || [ $? -eq 1 ] || set -- "$1" '' -1
	[ "$(grep -c -e "$2" "$folder/said")" -eq "$3" ] || {
		echo "lab $1: not $3 times '$2':"
		cat "$folder/said"
		exit 1
	}
}
a_case() { # NAME WORDS: a case that a right part passes
	printf 'case "%s"\n link delay 10ms\n messages %s\n within 20s\n expect all\n' "$1" "$2"
}

# ---- no file, or none that is the student's
says grade 'there is no my_cases.txt of at most' 5
says try 'my_cases' 0
ln -s /etc/passwd "$own"
says grade 'there is no my_cases.txt of at most' 5
rm "$own"
mkfifo "$own"
says grade 'there is no my_cases.txt of at most' 5
rm "$own"

# ---- a file that is no cases, or too many
{ a_case one 5; echo ' expekt all'; } >"$own"
says grade 'line 6: .*expekt' 5
says try 'line 6: .*expekt' 1
for i in $(seq 33); do a_case $i 1; done >"$own"
says grade 'my_cases.txt has 33 cases, and may have 32' 5
{ a_case one 10000; a_case two 10000; a_case three 1; } >"$own"
says grade 'send 20001 messages, and may send 20000' 5

# ---- a case that a right part fails, and one that a wrong part passes
{ a_case one 5; a_case 'two of three' 3 | sed 's/10ms/10ms fwd: loss mask 01/'; } >"$own"
says grade 'with a right part, too, the case fails: message 2, sent at' 5
says grade 'case: two of three; ' 5
says try 'FAILED .* a right part passes the cases of my_cases.txt' 1
a_case weak 5 >"$own"
says grade 'of 1 cases none fails with such a part' 5
says try 'ok .* a right part passes the cases of my_cases.txt' 1
says try 'ok .* this part passes the cases of my_cases.txt' 1

# ---- a wrong part, and the case that tells so
cp "$source/docs/labs/$lab/vanilla.c" "$folder"
cp "$source/tests/labs/$lab/my_cases.txt" "$own"
says try 'FAILED .* this part passes the cases of my_cases.txt' 1
says grade '^  ok .* the own cases tell' 5
echo well
