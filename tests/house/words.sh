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
		! -name '*.trail' ! -path '*/golden/*' ! -name '*.expect'
	ls meson.build meson_options.txt
}

sources |
	grep -E '(\.(c|h|def|sh|in|pml|scd|awk)|(^|/)meson\.build)$|^(tools|\.ci)/' |
	xargs awk '
		function ended() {
			if (file && !licensed)
				print file ": no SPDX line"
		}
		FNR == 1 { ended(); file = FILENAME; licensed = 0 }
		/SPDX-License-Identifier: MIT/ { licensed = 1 }
		FNR == 2 { nextfile }
		END { ended() }' >>"$faults"

# The words are split here so that this file does not hold them.
open='TO''DO|FIX''ME|XX''X|HA''CK'
{ sources; ls *.md docs/*.md; } | sort -u |
	{ xargs grep -HnE "\\b($open)\\b|/(home|root|work|Users)/[a-z]" || true; } \
		>>"$faults"

cat "$faults"
[ ! -s "$faults" ]
