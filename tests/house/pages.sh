#!/bin/sh
# SPDX-License-Identifier: MIT
# pages SOURCE -- what pages name is there: each path in backquotes that begins with a folder of
# the tree (or of the page's own room), and each file that a page links to.
set -eu
cd "$1"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

pages=$(ls ./*.md docs/*.md docs/reproductions/*.md)
for room in configs microprotocols runtime tests tools; do
	pages="$pages $(find "$room" -name '*.md')"
done

for page in $pages; do
	page=${page#./}
	grep -oE '`(configs|docs|microprotocols|runtime|tests|tools)/[A-Za-z0-9_./*-]*`' "$page" |
		tr -d '`' | sort -u | while read -r path; do
		case $path in *NAME* | *FILE* | *FAMILY* | *ROOM*) continue ;; esac
		# shellcheck disable=SC2086 # stars stand for files
		ls -d $path >/dev/null 2>&1 || ls -d "$(dirname "$page")"/$path >/dev/null 2>&1 ||
			echo "$page: no $path"
	done
	grep -oE '\]\([^):]*\)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep . | sort -u |
		while read -r path; do
		[ -e "$(dirname "$page")/$path" ] || echo "$page: no page $path"
	done
done >>"$faults"

cat "$faults"
[ ! -s "$faults" ]
