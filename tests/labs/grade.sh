#!/bin/sh
# SPDX-License-Identifier: MIT
# grade.sh NOPAL SOURCE LAB [PART] -- the reference of a lab has full marks, and each wrong submission
# the points and reasons of tests/labs/LAB/golden.
#
# A wrong submission is a script of sed: the reference, with the mistake that its first line tells.
# The skeleton is handed in as it was handed out.  Wrong ones are caught with fewer seeds, too.
# Without a part to write, submissions are folders of configs.
# NOPAL_GOLDEN=write writes the golden file.
set -eu
nopal=$1 source=$2 lab=$3 part=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_FUSED=off NOPAL_CONFIGS="$source/configs"
tests=$source/tests/labs/$lab

# submission NAME [CONFIGS]: points and reasons of the source on standard input, or of a folder
submission() {
	mkdir "$folder/$1"
	if [ -n "$part" ]; then cat >"$folder/$1/$part.c"; else cp "$2"/*.conf "$folder/$1"; fi
	echo "$lab" >"$folder/$1/lab.txt"
	for file in my_cases.txt stuck.conf; do
		[ "$1" = skeleton ] || [ ! -f "$tests/$file" ] || cp "$tests/$file" "$folder/$1"
	done
	"$nopal" lab grade "$folder/$1" $seeds >"$folder/out" 2>&1 || [ $? -eq 1 ] ||
		{ cat "$folder/out"; exit 1; }
	echo "== $1"
	sed -n '/^  FAILED/,/hint:/{/hint:\|case:/d;p;}; s/\( of .* points\), .*/\1/p' "$folder/out"
}

sources() {
	seeds=
	submission reference <"$tests/reference.c"
	seeds="--seeds 60"
	for wrong in "$tests"/wrong_*.sed; do
		name=$(basename "$wrong" .sed)
		sed -f "$wrong" "$tests/reference.c" >"$folder/wrong.c"
		! cmp -s "$folder/wrong.c" "$tests/reference.c" || { echo "$name changes nothing"; exit 1; }
		submission "$name" <"$folder/wrong.c"
	done
	submission skeleton <"$source/docs/labs/$lab/$part.c"
}
configs() {
	seeds=
	for one in "$tests"/reference "$tests"/wrong_*; do
		submission "$(basename "$one")" "$one"
	done
	submission skeleton "$source/docs/labs/$lab"
}

if [ -n "$part" ]; then sources; else configs; fi >"$folder/golden"
if [ "${NOPAL_GOLDEN:-}" = write ]; then
	cp "$folder/golden" "$tests/golden"
fi
diff -u "$tests/golden" "$folder/golden"
