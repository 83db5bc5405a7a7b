#!/bin/sh
# SPDX-License-Identifier: MIT
# check_bad.sh NOPAL -- `nopal check` on every bad config: exit code 2, and on
# standard error the file, the line, the cause that its first line tells, a fix.
set -u
nopal=$1
failed=0
count=0

for config in tests/configs/bad/*.conf; do
	count=$((count + 1))
	said=$("$nopal" check "$config" 2>&1 >/dev/null)
	code=$?
	first=$(head -n 1 "$config")
	expected=${first#\# expect}
	file=$config
	case $expected in
	@*)
		file=${expected%% *}
		file=tests/configs/bad/${file#@}
		;;
	esac
	expected=${expected#* }
	line=${expected%%:*}
	words=${expected#*: }
	place="$file:$line: error: "
	[ "$line" = 0 ] && place="$file: error: "
	if [ "$code" -ne 2 ]; then
		echo "$config: exit code $code, not 2"
		failed=1
	fi
	printf '%s\n' "$said" | grep -F -- "$place" | grep -qF -- "$words" || {
		echo "$config: nothing says \`$place...$words\`:"
		printf '%s\n' "$said"
		failed=1
	}
	printf '%s\n' "$said" | grep -q '^  fix: ' || {
		echo "$config: there is no fix"
		failed=1
	}
done
"$nopal" check --json tests/configs/bad/empty.conf >/dev/null 2>&1
[ $? -eq 2 ] || failed=1
echo "$count bad configs"
[ "$count" -ge 44 ] || failed=1
exit "$failed"
