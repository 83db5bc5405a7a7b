#!/bin/sh
# SPDX-License-Identifier: MIT
# words SOURCE -- every source file begins with its licence; nothing is left
# open; no file names a place of one machine.
set -eu
cd "$1"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

sources() {
	find .ci configs docs microprotocols runtime tests tools -type f ! -name '*.md' \
		! -path 'tests/configs/*' ! -path '*/corpus/*' ! -name '*.golden' \
		! -name '*.trail' ! -path '*/golden/*'
	ls meson.build meson_options.txt
}

for file in $(sources); do
	case $file in
	*.[ch] | *.def | *.sh | *.in | */meson.build | meson.build | *.pml | *.scd | \
		*.awk | tools/* | .ci/*)
		head -2 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
			echo "$file: no SPDX line" ;;
	esac
done >>"$faults"

# The words are split here so that this file does not hold them.
open='TO''DO|FIX''ME|XX''X|HA''CK'
{ sources; ls *.md docs/*.md; } | sort -u | while read -r file; do
	grep -HnE "\\b($open)\\b" "$file" || true
	grep -HnE '/(home|root|work|Users)/[a-z]' "$file" || true
done >>"$faults"

cat "$faults"
[ ! -s "$faults" ]
