#!/bin/sh
# SPDX-License-Identifier: MIT
# hello.sh NOPAL SOURCE -- lab 0, which has no code: right answers have full marks, and of others each
# loses the points of its question.
set -eu
nopal=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
export NOPAL_FUSED=off

# points WANTED: of the folder as it is
points() {
	"$nopal" lab grade "$folder/ada" >"$folder/out" 2>&1 || [ $? -eq 1 ] ||
		{ cat "$folder/out"; exit 1; }
	grep -q "^$1 of 100 points" "$folder/out" || { echo "not $1:"; cat "$folder/out"; exit 1; }
}

"$nopal" lab start 0 "$folder/ada" --id ada >"$folder/out" || { cat "$folder/out"; exit 1; }
points 0
cp "$source/tests/labs/00-hello/answers.txt" "$folder/ada"
points 100
sed -i 's/^5: 13 /5: 12 /; s/^6: 19.57 ms/6: 19.57/' "$folder/ada/answers.txt"
points 68
sed -i '/^4/d' "$folder/ada/answers.txt"
points 51
rm "$folder/ada/answers.txt"
points 0
