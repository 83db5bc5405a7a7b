#!/bin/sh
# SPDX-License-Identifier: MIT
# questions.sh NOPAL SOURCE LAB... -- `nopal lab start` gives a student a trial of the own and three
# questions about it: the same for the same id, others for another; `nopal lab try` judges answers.
set -eu
nopal=$1 source=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
export NOPAL_FUSED=off
fault() {
	echo "$*"
	exit 1
}
start() { "$nopal" lab start "$1" "$folder/$1-$2" --id "$3" >"$folder/out" 2>&1 || fault "$(cat "$folder/out")"; }

last=
for lab; do
	grep -q '`answers.txt` has three questions' "$source/docs/labs/$lab/README.md" || continue
	last=$lab
	start "$lab" one ada
	start "$lab" same ada
	start "$lab" other bob
	for file in answers.txt own.html own-0.trace own-1.trace; do
		[ -s "$folder/$lab-one/$file" ] || fault "$lab: no $file"
		cmp -s "$folder/$lab-one/$file" "$folder/$lab-same/$file" ||
			fault "$lab: one id, and two times another $file"
		cmp -s "$folder/$lab-one/$file" "$folder/$lab-other/$file" &&
			fault "$lab: two ids, and the same $file"
	done
	[ "$(grep -c '^[1-3]:$' "$folder/$lab-one/answers.txt")" = 3 ] ||
		fault "$lab: no three questions"
	grep -q 'class="verdict good"' "$folder/$lab-one/own.html" ||
		fault "$lab: the reference fails in the own trial"
done

# The last one's answers.
lab=$last
[ -n "$lab" ] || fault "no hand-out says that there are questions"
cp "$source"/tests/labs/"$lab"/reference.c "$folder/$lab-one/$(cd "$source/docs/labs/$lab" && ls ./*.c)"
printf '1: 12\n2: 1 boat\n' >"$folder/$lab-one/answers.txt"
"$nopal" lab try "$folder/$lab-one" >"$folder/out" 2>&1 || fault "$(cat "$folder/out")"
for word in '^  1  refused ' '^  2  refused ' '^  3  missing '; do
	grep -q "$word" "$folder/out" || fault "no '$word': $(cat "$folder/out")"
done
printf 'first: 12 ms\n' >"$folder/$lab-one/answers.txt"
"$nopal" lab try "$folder/$lab-one" >"$folder/out" 2>&1 || fault "$(cat "$folder/out")"
grep -q 'answers.txt:1: error: a line begins with the number' "$folder/out" ||
	fault "$(cat "$folder/out")"
