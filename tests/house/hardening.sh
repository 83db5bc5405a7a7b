#!/bin/sh
# SPDX-License-Identifier: MIT
# hardening SOURCE BUILD -- what is built to be used is hardened: the program, the
# library and its fused units, as their ELF files say.  Exits 77 for a build that is
# not optimised or has sanitizers, which has none of it (meson.build).
set -eu
build=$2
command -v readelf >/dev/null || { echo "no readelf here"; exit 77; }
grep -q -e '-D_FORTIFY_SOURCE=[23]' "$build/compile_commands.json" || {
	echo "not optimised, or with sanitizers: not hardened"
	exit 77
}
bad=0
fault() { echo "$*"; bad=1; }

# has FILE WHAT PATTERN READELF-OPTION
has() {
	readelf -W "$4" "$1" | grep -q -E -e "$3" || fault "$(basename "$1"): no $2"
}
hard() {
	has "$1" "segment that relocation leaves read-only" GNU_RELRO -l
	has "$1" "binding of all symbols at start" 'BIND_NOW|Flags:.* NOW' -d
	has "$1" "stack without execution" 'GNU_STACK .* RW ' -l
	has "$1" "stack protector" '__stack_chk_fail' --dyn-syms
	has "$1" "checked copy (FORTIFY)" '__(mem|str)[a-z]*_chk' --dyn-syms
	! grep -q -e '-fcf-protection' "$build/compile_commands.json" ||
		has "$1" "marked indirect branches" 'x86 feature:.*IBT' -n
}

for file in "$build/tools/nopal" "$build/libnopal.so" "$build"/configs/*.fused.so; do
	[ ! -e "$file" ] || hard "$file"
done
[ -e "$build/libnopal.so" ] || fault "no $build/libnopal.so"
[ ! -e "$build/tools/nopal" ] ||
	has "$build/tools/nopal" "position-independent program" 'Flags:.* PIE' -d
exit $bad
