#!/bin/sh
# SPDX-License-Identifier: MIT
# mutate -- which changes tools/mutate makes of a small file, all of them and a few.
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
