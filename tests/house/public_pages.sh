#!/bin/sh
# SPDX-License-Identifier: MIT
# public_pages SOURCE BUILD -- each installed header compiles alone and twice over, as C and as
# C++, without a warning; what declares functions declares them for both languages.
set -eu
cd "$1"
command -v c++ >/dev/null || { echo "no c++ here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=$folder/faults
: >"$faults"

# compiles PAGE LANGUAGE COMPILER...
compiles() {
	page=$1 language=$2
	shift 2
	printf '#include <nopal/%s>\n#include <nopal/%s>\n' "$page" "$page" >"$folder/page"
	"$@" -x "$language" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Iruntime \
		"$folder/page" 2>"$folder/log" && return
	echo "runtime/nopal/$page does not compile as $language alone:" >>"$faults"
	grep -m 5 -E 'error:|warning:' "$folder/log" >>"$faults" || cat "$folder/log" >>"$faults"
}

for path in runtime/nopal/*.h; do
	page=$(basename "$path")
	grep -q "'nopal/$page'" runtime/meson.build || echo "$path is not installed" >>"$faults"
	compiles "$page" c cc -std=gnu11
	compiles "$page" c++ c++ -std=c++17
	! grep -q -E '^[a-z].*\bnopal_[a-z_]+\(' "$path" || grep -q '^extern "C" {$' "$path" ||
		echo "$path declares functions without extern \"C\"" >>"$faults"
done

cat "$faults"
[ ! -s "$faults" ]
