#!/bin/sh
# SPDX-License-Identifier: MIT
# new.sh PROGRAM -- `nopal new` makes a microprotocol of each family that both compilers take without
# a warning, whose config is good, and whose own test holds; it refuses names that cannot be, and
# overwrites nothing.
. "$(dirname "$0")/said.sh"
NOPAL=$(cd "$(dirname "$nopal")" && pwd)/$(basename "$nopal")
export NOPAL
unset NOPAL_PLUGINS
# what a sanitizer says of libraries that stay loaded is not what is tested here
ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
export ASAN_OPTIONS
say() { # CODE WORDS...: what `nopal new` says
	expected=$1 code=0
	shift
	"$NOPAL" new "$@" >"$folder/out" 2>"$folder/err" || code=$?
	[ $code -eq "$expected" ] || fault "new $*: exit code $code, not $expected"
}
refuses() { # CAUSE WORDS...
	cause=$1
	shift
	say 2 "$@"
	grep -q -e "$cause" "$folder/err" || fault "new $*: no '$cause'"
	grep -q '^  fix: ' "$folder/err" || fault "new $*: no fix"
}

# ---- every family, by each compiler that is here; its own test says what it does
families='check congestion flow format ordering reliability status'
tried=0
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for family in $families; do
		own=$folder/$family
		rm -rf "$own"
		say 0 $family mine_2 --in "$own"
		has '^  ./mine_2_test.sh'
		CC=$compiler "$own/mine_2_test.sh" >"$folder/out" 2>"$folder/err" ||
			fault "$family, $compiler: its test fails"
		[ ! -s "$folder/err" ] || fault "$family, $compiler: a warning"
		if grep -iE 'sample|mine_2[a-z]|.{101}' "$own"/*.c "$own"/*.sh >"$folder/out"; then
			fault "$family: the template's name, or a line that is too long"
		fi
		[ "$(wc -l <"$own/mine_2.c")" -le 90 ] || fault "$family: longer than two screens"
		"$NOPAL" explain "$own/mine_2.conf" >"$folder/out" 2>"$folder/err" ||
			fault "explain $family"
		has mine_2
		tried=$((tried + 1))
	done
done
[ $tried -gt 0 ] || { echo "no compiler here"; exit 77; }

# ---- a test notices a handler that does less
cd "$folder/ordering"
sed '/self->next = number + 1;/d' mine_2.c >changed
cat changed >mine_2.c
./mine_2_test.sh >"$folder/out" 2>"$folder/err" && fault "a broken order passes its test"

# ---- names
refuses 'is a microprotocol already' ordering lossy_fifo
refuses 'is a role' ordering reliability
refuses 'is a word of C' ordering while
refuses 'is a word of C' ordering linux
refuses 'is no name' ordering Mine
refuses 'is no name' ordering 2nd
refuses 'is no name' ordering ../mine
refuses 'is no name' ordering ''
refuses 'is no name' ordering "$(printf 'a%.0s' $(seq 41))"
refuses 'names of Nopal itself' ordering nopal_order
refuses 'there is no template' security mine
refuses 'did you mean .ordering.' ordring mine
say 2 ordering
# compiled as it stands, also where its name is as long as can be
longest=$(printf 'a%.0s' $(seq 40))
say 0 congestion "$longest"
"./${longest}_test.sh" >"$folder/out" 2>"$folder/err" || fault "the longest name"

# ---- nothing is overwritten, and nothing is left of what could not be made
ls >"$folder/before"
for end in .c .conf _test.sh; do
	mkdir "$folder/kept" && echo mine >"$folder/kept/mine$end"
	refuses "mine$end: File exists" ordering mine --in "$folder/kept"
	[ "$(cat "$folder/kept"/*)" = mine ] || fault "mine$end was overwritten"
	rm -r "$folder/kept"
done
say 3 ordering mine --in "$folder/none/none"
grep -q '^  fix: ' "$folder/err" || fault "no fix"
(
	ulimit -f 1 # a limit on file sizes stands for a full disk
	say 3 ordering mine
)
ls | cmp - "$folder/before" || fault "files are left"
echo well
