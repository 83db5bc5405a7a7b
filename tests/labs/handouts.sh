#!/bin/sh
# SPDX-License-Identifier: MIT
# handouts.sh NOPAL SOURCE OBJECTS -- what the hand-outs show is what the tools print: each `$ nopal`
# line of a README.md is run with the reference, and what stands below it held against its output.
# Each config is checked: no warning, but for the one that is to be repaired.
set -eu
nopal=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") source=$2 objects=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export NOPAL_FUSED=off NOPAL_CONFIGS="$source/configs"
bad=0

# shown README COMMAND: what the page shows below the command
shown() {
	awk -v line="\$ $2" '
		$0 == line { on = 1; next }
		on && (/^\$ / || /^```/) { exit }
		on' "$1"
}

for page in "$source"/docs/labs/*/README.md; do
	lab=$(basename "$(dirname "$page")")
	at=$folder/$lab
	mkdir "$at"
	cp "$source/docs/labs/$lab"/*.conf "$at" 2>/dev/null || continue
	part=$(sed -n 's/^plugin = "\.\/\(.*\)\.so"$/\1/p' "$at"/*.conf | head -n 1)
	[ -z "$part" ] || cp "$objects/$part.so" "$at"
	cd "$at"
	for config in *.conf; do
		case $config in stuck*) continue ;; esac
		"$nopal" check "$config" >check 2>&1 && ! grep -q warning check ||
			{ echo "$lab: $config:"; cat check; bad=1; }
	done
	sed -n 's/^\$ \(nopal .*\)/\1/p' "$page" >commands
	while read -r line; do
		shown "$page" "$line" >shown
		PATH=$(dirname "$nopal"):$PATH sh -c "$line" >out 2>err || [ $? -eq 1 ] ||
			{ echo "$lab: $line:"; cat err; bad=1; }
		[ ! -s shown ] || diff -u shown out || { echo "$lab: $line"; bad=1; }
	done <commands
done
exit $bad
