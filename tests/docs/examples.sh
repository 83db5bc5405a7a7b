#!/bin/sh
# SPDX-License-Identifier: MIT
# examples SOURCE LIBRARY PROGRAM... -- the programs of docs/examples print what their head comments
# say, and pages quote them as they are.  Programs are compiled from NAME.c, or NAME.py itself.
#
# A page quotes lines of a file in the fenced block behind <!-- from: examples/NAME.c -->, and what
# it prints in that behind <!-- prints: examples/NAME.c -->.
set -eu
source=$1
export NOPAL_FUSED=off NOPAL_CONFIGS="$source/configs" NOPAL_LIBRARY="$2"
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=$folder/faults
: >"$faults"

for program in "$@"; do
	name=$(basename "$program")
	case $name in
	*.py) sed -n '/ prints:$/,/^"""$/s/^    //p' "$program" >"$folder/expected" ;;
	*)
		name=$name.c
		sed -n '1,/^ \*\/$/{/ prints:$/,/^ \*\/$/s/^ \*     //p}' \
			"$source/docs/examples/$name" >"$folder/expected"
		;;
	esac
	[ -s "$folder/expected" ] || echo "$name does not say what it prints" >>"$faults"
	# an interpreter cannot load a sanitizer's runtime behind its own libraries: tools/test
	# runs this test without sanitizers, too
	if [ "$name" != "${name%.py}" ] && grep -qE '__asan_init|__ubsan_handle' "$NOPAL_LIBRARY"; then
		cp "$folder/expected" "$folder/$name"
		continue
	fi
	"$program" >"$folder/$name" 2>"$folder/log" || echo "$name: exit $?" >>"$faults"
	diff -u "$folder/expected" "$folder/$name" >>"$faults" || cat "$folder/log" >>"$faults"
done
[ $# -eq "$(ls "$source"/docs/examples/*.c "$source"/docs/examples/*.py | wc -l)" ] ||
	echo "$# programs run; docs/examples has others" >>"$faults"

cd "$source/docs"
for page in *.md; do
	awk -v page="$page" -v prints="$folder" '
		function whole(file, line, text) {
			while ((getline line < file) > 0)
				text = text line "\n"
			close(file)
			return "\n" text
		}
		/^<!-- (from|prints): .* -->$/ { kind = $2; name = $3; next }
		/^```/ && !inside && kind { inside = 1; block = "\n"; first = FNR; next }
		/^```/ && inside {
			base = name
			sub(".*/", "", base)
			from = whole(kind == "from:" ? name : prints "/" base)
			if (kind == "from:" ? !index(from, block) : from != block)
				print "docs/" page ":" first ": is not " \
					(kind == "from:" ? "in" : "what is printed by") " " name
			print name > prints "/quoted"
			inside = 0
			kind = ""
		}
		inside { block = block $0 "\n" }' "$page"
done >>"$faults"
for file in examples/*.c examples/*.py; do
	grep -qx "$file" "$folder/quoted" || echo "no page quotes $file" >>"$faults"
done

cat "$faults"
[ ! -s "$faults" ]
