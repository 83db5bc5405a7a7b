#!/bin/sh
# SPDX-License-Identifier: MIT
# format SOURCE -- every C file is as clang-format 14 writes it.
set -eu
cd "$1"
for tool in clang-format-14 clang-format none; do
	$tool --version 2>/dev/null | grep -q 'version 14\.' && break
done
[ $tool != none ] || { echo "no clang-format 14 here"; exit 77; }
bad=0
for file in $(find runtime microprotocols tools tests docs -name '*.[ch]'); do
	$tool --dry-run -Werror "$file" 2>/dev/null ||
		{ echo "$file: run $tool -i"; bad=1; }
done
exit $bad
