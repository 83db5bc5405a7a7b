#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage SOURCE -- the tests and files that docs/coverage.md names are there.
set -eu
cd "$1"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

tests=$({
	find tests -name 'test_*.c' -exec basename {} .c \; | sed 's/^test_//'
	find tests -name '*.sh' -exec basename {} .sh \;
	sed -n 's/^test(.\([a-z_]*\).,.*/\1/p' tests/*/meson.build
} | sort -u)

# "test `a`", "tests `a`, `b`": words in backquotes behind the word test
grep -oE 'tests? `[a-z_]+`((, | and )`[a-z_]+`)*' docs/coverage.md |
	grep -oE '`[a-z_]+`' | tr -d '`' | sort -u | while read -r name; do
	echo "$tests" | grep -qx "$name" || echo "coverage.md: no test $name"
done >>"$faults"

# files, also those of microprotocols by family
grep -oE '`[A-Za-z_./]+\.(c|h|conf|def|sh|md)`' docs/coverage.md | tr -d '`' |
	sort -u | while read -r file; do
	[ -e "$file" ] || [ -e "microprotocols/$file" ] || [ -e "docs/$file" ] ||
		ls microprotocols/*/"$file" >/dev/null 2>&1 ||
		echo "coverage.md: no file $file"
done >>"$faults"

cat "$faults"
[ ! -s "$faults" ]
