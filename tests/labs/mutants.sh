#!/bin/sh
# SPDX-License-Identifier: MIT
# mutants.sh NOPAL SOURCE -- what a mutant of a lab does wrong is news: the visible cases of an
# earlier lab, with the lab's part on both sides, do not tell any of its mutants from the reference,
# and the reference's own cases tell all of them.  What the lab's composition does not do is left out:
# how many datagrams its receiver sends, and cases that its reference fails.
set -eu
nopal=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_FUSED=off
bad=0
own='\(the own cases tell\|your cases find:\) ' # how the items begin that have a mutant

# grade LAB PART CASES: the rubric, by few trials, with these cases as the student's own
grade() {
	rm -rf "$folder/at"
	mkdir "$folder/at"
	cp "$source/tests/labs/$1/reference.c" "$folder/at/$2.c"
	cp "$3" "$folder/at/my_cases.txt"
	echo "$1" >"$folder/at/lab.txt"
	"$nopal" lab grade --seeds 1 "$folder/at" >"$folder/said" 2>&1 || [ $? -eq 1 ] ||
		{ cat "$folder/said"; exit 1; }
}
noticed() { # how many mutants the last grade says are told from the reference
	grep -c "^  ok .*$own" "$folder/said" || true
}
# without CASE: drops it
without() {
	awk -v name="case \"$1\"" '/^case /{on = $0 != name} on' "$folder/earlier" >"$folder/less"
	mv "$folder/less" "$folder/earlier"
}

while read -r lab part earlier; do
	sed 's/^\(	\(sender\|receiver\)  *\).*/\1student/; /^#/d; /expect  *acks/d' \
		"$source/docs/labs/$earlier/cases.txt" >"$folder/earlier"
	while grade "$lab" "$part" "$folder/earlier" && grep -q 'with a right part, too' "$folder/said"; do
		without "$(sed -n "/$own/"',$s/^ *case: \(.*\); seed .*/\1/p' "$folder/said" | sed -n 1p)"
	done
	cases=$(grep -c '^case ' "$folder/earlier" || true)
	[ "$cases" -gt 0 ] || { echo "$lab: no case of $earlier applies"; bad=1; }
	[ "$(noticed)" -eq 0 ] || {
		echo "$lab: the cases of $earlier notice:"
		grep "^  ok .*$own" "$folder/said"
		bad=1
	}
	grade "$lab" "$part" "$source/tests/labs/$lab/my_cases.txt"
	[ "$(noticed)" -eq 5 ] || { echo "$lab:"; cat "$folder/said"; bad=1; }
	echo "$lab: $cases cases of $earlier notice no mutant, the own ones notice $(noticed)"
done <<END
02-vanilla-udp vanilla 01-hold-bits
03-delay estimator 02-vanilla-udp
04-corruption sum32 03-delay
05-duplication filter 04-corruption
06-loss arq 02-vanilla-udp
07-sliding-window sliding_window 02-vanilla-udp
10-congestion-control window_policy 02-vanilla-udp
END
exit $bad
