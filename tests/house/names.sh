#!/bin/sh
# SPDX-License-Identifier: MIT
# names SOURCE BUILD -- one name, five places: the config word, the
# file, the symbol, the test and the page of each microprotocol.  Tests of the runtime stand
# in the room of their file: tests/runtime/ROOM/test_NAME.c, and test_NAME_MORE.c beside it.
set -eu
cd "$1"
build=$2
bad=0
fault() { echo "$*"; bad=1; }

listed=$(sed -n 's/.*&nopal_\([a-z0-9_]*\),.*/\1/p' "$build/microprotocols/builtin.c")
[ -n "$listed" ] || fault "the registry is empty"

for name in $listed; do
	file=$(find microprotocols -name "$name.c")
	[ -n "$file" ] || { fault "$name: no file microprotocols/*/$name.c"; continue; }
	grep -q "^const struct nopal_microprotocol nopal_$name = {" "$file" ||
		fault "$file: no symbol nopal_$name"
	family=$(basename "$(dirname "$file")")
	grep -zq "	NOPAL_DESCRIBE([[:space:]]*$name, $family," "$file" ||
		fault "$file: its descriptor does not begin with its name and its folder"
	[ -f "tests/microprotocols/test_$name.c" ] ||
		fault "$name: no test tests/microprotocols/test_$name.c"
	[ -s "$build/docs/$name.md" ] || [ -s "$build/docs/microprotocols/$name.md" ] ||
		fault "$name: no page docs/microprotocols/$name.md was made"
done

# and nobody stands aside
grep -l '^const struct nopal_microprotocol nopal_' microprotocols/*/*.c |
	while read -r file; do
		name=$(basename "$file" .c)
		echo "$listed" | grep -qx "$name" || echo "$file: not in the list of meson.build"
	done >"$build/names.aside"
[ ! -s "$build/names.aside" ] || { cat "$build/names.aside"; bad=1; }
find tests -name 'test_*.c' | while read -r file; do
	grep -rq "$(basename "$file" .c | sed 's/^test_//')'" tests/meson.build ||
		echo "$file: not in tests/meson.build"
done >"$build/names.aside"
[ ! -s "$build/names.aside" ] || { cat "$build/names.aside"; bad=1; }

find tests/runtime -name 'test_*.c' | while read -r file; do
	room=$(dirname "${file#tests/}") name=$(basename "$file" .c)
	name=${name#test_}
	until [ -f "$room/$name.c" ] || [ "${name%_*}" = "$name" ]; do
		name=${name%_*}
	done
	[ -f "$room/$name.c" ] || echo "$file: $room has no file of its name"
done >"$build/names.aside"
[ ! -s "$build/names.aside" ] || { cat "$build/names.aside"; bad=1; }
exit $bad
