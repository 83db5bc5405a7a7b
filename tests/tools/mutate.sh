#!/bin/sh
# SPDX-License-Identifier: MIT
# mutate -- the changes that tools/mutate makes of a small file, all of them and a few, and the
# test programs that it takes for a file.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/tools"
cp tools/mutate "$place/tools"
cat >"$place/one.c" <<'END'
/* 1 + 2 < 3 */
#define ROOM (4 + 5)
static int told(int a)
{
	const char *text = "6 + \"7\"";

	a++;
	say(a - 1,
	    a);
	if (!a && a <= 0x10)
		return 0;
	if (a == 3)
		return true;
	return text[0] != 'x';
}
END
cat >"$place/expected" <<'END'
one.c:7: ++ -> --
one.c:8: say(a - 1, a) left out
one.c:8: - -> +
one.c:8: 1 -> 2
one.c:8: 1 -> 0
one.c:10: (!a && a <= 0x10) -> (!(!a && a <= 0x10))
one.c:10: ! left out
one.c:10: && -> ||
one.c:10: <= -> <
one.c:11: 0 -> 1
one.c:12: == -> !=
one.c:12: 3 -> 4
one.c:12: 3 -> 2
one.c:13: true -> false
one.c:14: text[0] != 'x' -> 0
one.c:14: 0 -> 1
one.c:14: != -> ==
END
list() {
	"$place/tools/mutate" one.c --list "$@"
}

list >"$place/all"
diff "$place/expected" "$place/all"
for seed in 1 2 3; do
	list -n 5 --seed $seed >"$place/few"
	list -n 5 --seed $seed | cmp - "$place/few"
	[ "$(sort -u "$place/few" | wc -l)" -eq 5 ]
	! grep -vxFf "$place/all" "$place/few"
	cat "$place/few" >>"$place/drawn"
done
[ "$(sort -u "$place/drawn" | wc -l)" -gt 5 ]

# A tree with two rooms, and a build whose programs notice nothing.
mkdir -p "$place/bin" "$place/runtime/wire" "$place/runtime/base" "$place/microprotocols/order"
cp "$place/one.c" "$place/runtime/wire"
cp "$place/one.c" "$place/runtime/wire/one_more.c"
cp "$place/one.c" "$place/microprotocols/order"
cat >"$place/programs" <<'END'
tests/microprotocols-test_one
tests/runtime-base-test_one
tests/runtime-base-test_two
tests/runtime-wire-test_one
tests/runtime-wire-test_one_edges
tests/runtime-wire-test_one_more
END
cat >"$place/bin/meson" <<END
#!/bin/sh
mkdir -p "\$2/tests"
while read -r program; do ln -s /bin/true "\$2/\$program"; done <"$place/programs"
touch "\$2/build.ninja"
END
cat >"$place/bin/ninja" <<END
#!/bin/sh
case " \$* " in *' -t targets '*) sed 's/\$/: c_LINKER/' "$place/programs" ;; esac
END
cp /bin/true "$place/tools/install-packages"
chmod +x "$place/bin/meson" "$place/bin/ninja"

# takes NEAR FAR ARGUMENT...: so many programs of the file's name, and so many more
takes() {
	near=$1 far=$2
	shift 2
	PATH=$place/bin:$PATH NOPAL_BUILD="$place/build" "$place/tools/mutate" "$@" -n 1 \
		>"$place/told" 2>&1 || true
	grep -q "tests: $near of its name, $far more\$" "$place/told" || {
		cat "$place/told"
		exit 1
	}
}

takes 2 0 runtime/wire/one.c
takes 1 0 runtime/wire/one_more.c
takes 1 0 microprotocols/order/one.c
takes 2 1 runtime/wire/one.c --test runtime/base/two
takes 2 2 runtime/wire/one.c --suite runtime/base
takes 2 3 runtime/wire/one.c --suite runtime
