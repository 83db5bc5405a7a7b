#!/bin/sh
# SPDX-License-Identifier: MIT
# fuse.sh PROGRAM COMPILER -- `nopal fuse` makes units that run, of configs by name,
# by path and with a plugin; whatever goes wrong is told with cause and fix, and no
# half unit is left.  `nopal explain` says what runs.
set -u
nopal=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
CC=$2
export CC
root=$(pwd)
NOPAL_SOURCES=$root
export NOPAL_SOURCES
unset NOPAL_FUSED NOPAL_PLUGINS
# what a sanitizer says of libraries that stay loaded is not what is tested here
ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
export ASAN_OPTIONS
work=$(mktemp -d) || exit 77
chmod 755 "$work"
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
failed=0
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
wrong() {
	echo "FAILED: $*"
	[ ! -s "$work/said" ] || cat "$work/said"
	failed=1
}
# fuse CODE WORDS...: what is said goes to $work/said, what is printed to out
fuse() {
	expected=$1
	shift
	timeout 100 "$nopal" fuse "$@" </dev/null >"$work/out" 2>"$work/said"
	code=$?
	[ $code -eq "$expected" ] || wrong "exit code $code, not $expected: $*"
	[ $code -eq 0 ] || grep -q '^  fix: ' "$work/said" || wrong "no fix: $*"
}
says() {
	grep -q -e "$1" "$work/said" || wrong "nothing says \`$1\`"
}
runs() { # CONFIG WORDS: what explain says of it, as text and as JSON
	"$nopal" explain "$1" >"$work/text" 2>&1
	grep -q "^runs $2" "$work/text" || {
		grep '^runs' "$work/text"
		wrong "$1 does not run $2"
	}
	"$nopal" explain --json "$1" | tr -d '\n' >"$work/text"
	grep -q "\"runs\": *\"$2" "$work/text" || wrong "$1: no $2 in JSON"
}
nothing_left() { # in FOLDER but what is named
	left=$(ls -A "$1")
	[ "$left" = "$2" ] || wrong "left in $1: $left"
}

# ------------------------------------------------------------ a path, a name
mkdir "$work/conf" "$work/named" "$work/bad" "$work/plugin"
cat >"$work/conf/mine.conf" <<END
transport_driver {}
fixed_size {}
END
runs "$work/conf/mine.conf" "interpreted: there is no mine.fused.so; "
fuse 0 "$work/conf/mine.conf" --flag -O1
units=$work/cache/nopal/fused
mine=$(cat "$work/out")
case $mine in
"$units"/mine-????????????????.fused.so) ;;
*) wrong "the unit is $mine" ;;
esac
runs "$work/conf/mine.conf" "fused: $mine"
(cd "$work/conf" && runs mine.conf "fused: $mine" && exit $failed) || failed=1
nothing_left "$work/conf" mine.conf
nothing_left "$units" "${mine##*/}"
NOPAL_FUSED=off runs "$work/conf/mine.conf" "interpreted: NOPAL_FUSED=off"
chmod 777 "$units"
runs "$work/conf/mine.conf" "interpreted: there is no mine.fused.so; "
fuse 3 "$work/conf/mine.conf"
says 'others may write there'
chmod 700 "$units"
fuse 0 bulk -o "$work/named/bulk.fused.so" --flag -O1
nothing_left "$work/named" bulk.fused.so
NOPAL_FUSED=$work/named runs bulk "fused: $work/named/bulk.fused.so"
"$nopal" sim bulk --link "delay 5ms loss 1%" --bytes 1MB --json \
	>"$work/interpreted" 2>/dev/null
NOPAL_FUSED=$work/named "$nopal" sim bulk --link "delay 5ms loss 1%" \
	--bytes 1MB --json >"$work/fused" 2>/dev/null
grep -q delivered "$work/fused" || wrong "the unit delivers nothing"
cmp "$work/interpreted" "$work/fused" || wrong "the unit does something else"

# --------------- a stranger's objects, beside a config and in the working directory
cat >"$work/strange.c" <<'END'
#include <stdio.h>
__attribute__((constructor)) static void run(void)
{
	fputs("a stranger's code runs\n", stderr);
}
END
mkdir "$work/strange"
"$CC" -shared -fPIC -o "$work/strange/mine.fused.so" "$work/strange.c"
cp "$work/strange/mine.fused.so" "$work/strange/bulk.fused.so"
cp "$work/strange/mine.fused.so" "$work/strange/gentle.so"
cp "$work/conf/mine.conf" "$work/strange"
printf 'plugin = "gentle"\nextends = "bulk"\n' >"$work/strange/bare.conf"
printf 'plugin = "./gentle.so"\nextends = "bulk"\n' >"$work/strange/path.conf"
(
	cd "$work/strange" || exit 1
	for tool in check explain graph "sim --bytes 10kB"; do
		for config in mine.conf ./mine.conf bulk bare.conf; do
			# shellcheck disable=SC2086 # words of a command
			"$nopal" $tool $config </dev/null
		done
	done
	"$nopal" list microprotocols
	"$nopal" doc retransmit
	# as it was received: no path makes it a plugin
	chmod 644 gentle.so
	"$nopal" check path.conf
) >"$work/said" 2>&1
grep -q "a stranger's code" "$work/said" && wrong "a stranger's code has run"
says 'gentle.so: error: the plugin is not executable'
says 'there is no plugin gentle.so'
chmod 755 "$work/strange/gentle.so"
"$nopal" check "$work/strange/path.conf" >"$work/said" 2>&1
says "a stranger's code runs" # named by its path, and made executable

# --------- a compiler that keeps what is not used; both compilers, where they are
fuse 0 "$work/conf/mine.conf" --flag -O0
runs "$work/conf/mine.conf" "fused: "
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	fuse 0 "$work/conf/mine.conf" --cc $compiler --flag -O0
	runs "$work/conf/mine.conf" "fused: "
done

# --------------------------------------------------------------- the source
fuse 0 bulk -c
cp "$work/out" "$work/bulk.c"
"$CC" -std=gnu11 -D_GNU_SOURCE -w -fsyntax-only -I"$root/runtime" \
	-I"$root/microprotocols" "$work/bulk.c" ||
	wrong "the source does not compile"
if [ -w /dev/full ]; then
	"$nopal" fuse bulk -c >/dev/full 2>"$work/said" &&
		wrong "a full disk took the source"
	says 'cannot write standard output: No space left'
fi

# --------------------------------------------------- a plugin, with its source
for file in gentle.c gentle.conf; do
	awk -v name=$file -f "$root/tests/docs/extract.awk" \
		"$root/docs/write-a-microprotocol.md" >"$work/plugin/$file"
done
(
	cd "$work/plugin" || exit 1
	"$CC" -shared -fPIC -w -I"$root/runtime" -o gentle.so gentle.c ||
		{ wrong "the plugin does not compile"; exit 1; }
	fuse 2 gentle.conf
	says 'source of `gentle`, which is a plugin'
	says '\-\-source'
	[ "$(ls "$units" | grep -c gentle)" -eq 0 ] ||
		wrong "a unit without its plugin"
	runs ./gentle.conf "interpreted: "
	"$nopal" sim ./gentle.conf --link "delay 5ms loss 1%" --bytes 1MB --json \
		>interpreted 2>/dev/null
	fuse 0 gentle.conf --source gentle.c --flag -O1
	runs ./gentle.conf "fused: $units/gentle-"
	"$nopal" sim ./gentle.conf --link "delay 5ms loss 1%" --bytes 1MB --json \
		>fused 2>/dev/null
	cmp interpreted fused || wrong "the plugin's unit does something else"
	# a handler that unbinds is known by its address, which a unit has not
	sed 's/^static enum nopal_verdict/static void gentle_gone(struct nopal_at at, \
const struct nopal_binding *binding)\
{\
	nopal_unbind(at, binding);\
}\
&/;' gentle.c >unbinds.c
	rm "$units"/gentle-*
	mkdir sub && mv unbinds.c sub/gentle.c
	fuse 1 gentle.conf --source sub/gentle.c --flag -O0
	says poisoned
	[ "$(ls "$units" | grep -c 'gentle.*so$')" -eq 0 ] ||
		wrong "a unit with an unbinding plugin"
	exit $failed
) || failed=1

# ---------------------------------------------------------------- what fails
cp "$work/conf/mine.conf" "$work/bad"
bad() { # CODE WORDS...: a unit that would be in $work/bad
	expected=$1
	shift
	fuse "$expected" "$work/bad/mine.conf" -o "$work/bad/mine.fused.so" "$@"
}
bad 3 --cc /none/cc
says '/none/cc'
bad 1 --cc false
says 'does not compile'
bad 1 --flag -fno-such-flag
says 'does not compile'
rm -f "$work/bad/mine.fused.so.c"
NOPAL_SOURCES=/none bad 1
says 'NOPAL_SOURCES'
[ -s "$work/bad/mine.fused.so.c" ] || wrong "the source is not there to be read"
rm -f "$work/bad/mine.fused.so.c"
fuse 3 "$work/bad/mine.conf" -o /none/mine.fused.so
says '/none/mine.fused.so'
HOME= XDG_CACHE_HOME= fuse 3 "$work/bad/mine.conf"
says 'HOME'
fuse 2 /none/mine.conf
fuse 2 "$work/bad/mine.conf" --set fixed_size.mtu=3B
mkdir "$work/bad/folder.fused.so"
fuse 3 "$work/bad/mine.conf" -o "$work/bad/folder.fused.so" --flag -O0
says 'folder.fused.so: Is a directory'
rmdir "$work/bad/folder.fused.so"
nothing_left "$work/bad" mine.conf
if [ "$(id -u)" -eq 0 ]; then
	echo "root writes everywhere: a folder that takes nothing is not tried"
else
	chmod 555 "$work/bad"
	bad 3
	says 'Permission denied'
	chmod 755 "$work/bad"
fi

# --------------------- a limit on file sizes stands for a full disk: the source
# does not fit, then the unit
(
	ulimit -f 4
	bad 3
	exit $failed
) || failed=1
says 'cannot write .*mine.fused.so.c: File too large'
nothing_left "$work/bad" mine.conf
cp "$root/configs/bulk.conf" "$work/bad"
(
	ulimit -c 0
	ulimit -f $(($(wc -c <"$work/bulk.c") / 512 + 8)) # its blocks
	fuse 1 "$work/bad/bulk.conf" -o "$work/bad/bulk.fused.so" --flag -O0
	exit $failed
) || failed=1
rm -f "$work/bad/bulk.conf" "$work/bad/bulk.fused.so.c"
nothing_left "$work/bad" mine.conf

# ------------------------------ killed while it compiles: no half unit is left
cat >"$work/slow" <<'END'
#!/bin/sh
echo $$ >"$SLOW.pid"
for word; do
	[ "$last" = -o ] && printf 'half a unit' >"$word"
	last=$word
done
: >"$SLOW.begun"
sleep 20
END
chmod 755 "$work/slow"
SLOW=$work/killed
export SLOW
"$nopal" fuse "$work/conf/mine.conf" --cc "$work/slow" >/dev/null 2>&1 &
process=$!
tries=0
until [ -e "$SLOW.begun" ] || [ $tries -eq 200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
kill -9 $process "$(cat "$SLOW.pid")"
wait $process 2>/dev/null
runs "$work/conf/mine.conf" "fused: "
rm "$mine"
runs "$work/conf/mine.conf" "interpreted: there is no mine.fused.so"
fuse 0 "$work/conf/mine.conf" --flag -O0
rm -f "$units"/gentle-* # a source to be read
nothing_left "$units" "${mine##*/}"

[ $failed -eq 0 ] && echo "well"
exit $failed
