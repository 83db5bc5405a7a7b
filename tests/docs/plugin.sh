#!/bin/sh
# SPDX-License-Identifier: MIT
# plugin SOURCE BUILD -- what is installed, is all that is wanted, wherever it lies:
# Nopal is installed into a folder of its own, its prefix is moved, and from there it
# checks, explains, simulates, carries a file, begins a microprotocol and fuses.  The examples
# and the plugins of write-a-microprotocol.md, word by word, are built against it with cc and
# pkg-config, and configs that name them are checked and run.
set -eu
source=$1 build=$2
for tool in cc pkg-config meson awk; do
	command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }
done
unset LD_LIBRARY_PATH NOPAL_CONFIGS NOPAL_PLUGINS NOPAL_FUSED NOPAL_SOURCES
folder=$(cd "$(mktemp -d)" && pwd -P)
receiver=
finish() {
	[ -z "$receiver" ] || kill "$receiver" 2>/dev/null || true
	rm -rf "$folder"
}
trap finish EXIT
wrong() {
	echo "$*"
	exit 1
}

meson install -C "$build" --no-rebuild --destdir "$folder/root" >"$folder/log" 2>&1 ||
	{ cat "$folder/log"; exit 1; }
installed=$(find "$folder/root" -path '*/bin/nopal')
[ -n "$installed" ] || wrong "no program was installed"
prefix=$folder/moved
mv "$(dirname "$(dirname "$installed")")" "$prefix"
rm -rf "$folder/root"
program=$prefix/bin/nopal
pc=$(find "$prefix" -name nopal.pc)
[ -n "$pc" ] || wrong "no nopal.pc was installed"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
configs=$(pkg-config --variable=configdir nopal)
[ -f "$configs/bulk.conf" ] || wrong "no bulk.conf in $configs"
plugins=$(pkg-config --variable=pluginsdir nopal)
[ -n "$plugins" ] || wrong "nopal.pc names no folder of plugins"

# ---- the program and its configs, by name
mkdir "$folder/elsewhere"
cd "$folder/elsewhere"
"$program" check bulk
"$program" list configs | grep -q '^bulk ' || wrong "no config is listed"
unit=$(find "$prefix" -name bulk.fused.so)
if [ -n "$unit" ]; then
	"$program" explain bulk | grep '^runs' | grep "fused: $unit" ||
		wrong "the installed unit does not run"
fi
"$program" sim bulk --link "rate 10mbit delay 20ms loss 1%" --bytes 100kB >/dev/null

head -c 300000 "$program" >file
"$program" recv -o in --listen 127.0.0.1:0 2>recv.log &
receiver=$!
i=0
until grep -q '^listening on' recv.log; do
	i=$((i + 1))
	[ $i -le 200 ] || { cat recv.log; exit 1; }
	sleep 0.05
done
to=$(sed -n 's/^listening on \([0-9.:]*\);.*/\1/p' recv.log)
"$program" send file "$to" 2>send.log || { cat send.log recv.log; exit 1; }
cmp file in/file || wrong "another file arrived"

# ---- examples, each compiled by the line of its head comment; a library with sanitizers wants
# programs that have them, too
sanitizers=
if grep -q __asan_ "$(pkg-config --variable=libdir nopal)/libnopal.so"; then
	sanitizers=-fsanitize=address,undefined
elif grep -q __ubsan_ "$(pkg-config --variable=libdir nopal)/libnopal.so"; then
	sanitizers=-fsanitize=undefined
fi
for example in "$prefix"/share/doc/nopal/examples/*.c; do
	line=$(sed -n 's/^ \*     \(cc .*\)/\1/p' "$example")
	cp "$example" .
	sh -c "$line -Wall -Wextra -Werror $sanitizers" || wrong "$example: $line"
	LD_LIBRARY_PATH=$(pkg-config --variable=libdir nopal) \
		"./$(basename "$example" .c)" >log || wrong "$example fails"
	grep -q . log || wrong "$example prints nothing"
done

# ---- the tutorial
take() {
	awk -v name="$1" -f "$source/tests/docs/extract.awk" \
		"$source/docs/write-a-microprotocol.md" >"$folder/$1"
	[ -s "$folder/$1" ]
}
cd "$folder"
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
for plugin in gentle patient; do
	take $plugin.c
	take $plugin.conf
	# shellcheck disable=SC2046 # flags are words
	cc -shared -fPIC -Wall -Wextra -Wno-missing-field-initializers -Werror \
		-o $plugin.so $plugin.c $(pkg-config --cflags nopal)
done
[ "$(wc -l <gentle.c)" -le 40 ] || wrong "the first example is longer than a screen"
# leaks of libraries that are loaded and unloaded are not what is tested here
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
"$program" check gentle.conf patient.conf
"$program" explain gentle.conf | grep -q gentle ||
	wrong "explain does not name the plugin"
"$program" sim gentle.conf --link "rate 10mbit delay 20ms loss 1%" --json

# ---- the order of the tutorial orders: without it the same run does not
overtaken() { # CONFIG
	"$program" sim "$1" --messages 500 --interval 5ms --size 300B \
		--link "delay 20ms 10ms loss 5%" --json |
		sed -n 's/.*"out_of_order_messages": \([0-9]*\).*/\1/p'
}
grep -v patient patient.conf >unordered.conf
[ "$(overtaken unordered.conf)" -gt 100 ] || wrong "nothing is overtaken on this link"
[ "$(overtaken patient.conf)" -eq 0 ] || wrong "patient delivers out of order"

# ---- what `nopal new` writes works with what is installed
"$program" new ordering own_order --in own >log
grep -q 'pkg-config --cflags nopal' log || wrong "new names other flags: $(cat log)"
NOPAL=$program own/own_order_test.sh

# ---- a plugin that is installed is found by its name from everywhere
mv gentle.so "$plugins/"
sed -i 's|"./gentle.so"|"gentle"|' gentle.conf
cd "$folder/elsewhere"
"$program" check "$folder/gentle.conf" || wrong "no plugin in $plugins"
cat >compiler <<'END'
#!/bin/sh
echo "$*" >words
exec cc "$@"
END
chmod +x compiler
"$program" fuse "$folder/gentle.conf" --source "$folder/gentle.c" --flag -O1 \
	--cc ./compiler
grep -q -e "-I$prefix/share/nopal/sources/runtime " words ||
	wrong "the unit was not made of the installed sources: $(cat words)"
"$program" explain "$folder/gentle.conf" | grep -q '^runs fused: ' ||
	wrong "the unit does not run"
