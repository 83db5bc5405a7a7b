# SPDX-License-Identifier: MIT
# said.sh PROGRAM -- not run, but read first by tests of one program that speaks and
# ends: `$nopal` is the program, `$folder` goes away with the test, and `fault` ends it
# and shows what was said last, in `$folder/out` and `$folder/err`.
set -eu
nopal=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
fault() {
	echo "$*"
	cat "$folder/out" "$folder/err"
	exit 1
}
has() { grep -q -e "$1" "$folder/out" || fault "no '$1'"; }
