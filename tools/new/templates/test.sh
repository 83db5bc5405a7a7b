#!/bin/sh
# SPDX-License-Identifier: MIT
# sample_test.sh -- builds sample, checks its config, and looks at its figures in virtual time.
# $CC is the compiler, and $NOPAL the program, where they are not `cc` and `nopal`.
set -eu
cd "$(dirname "$0")"
nopal=${NOPAL:-nopal}

figure() { # NAME WORDS...: one figure of `nopal sim` with these words
	name=$1
	shift
	"$nopal" sim sample.conf --json "$@" | sed -n "s/^  \"$name\": \([0-9]*\).*/\1/p"
}
expect() { # FIGURE RELATION NUMBER TEXT
	[ "$1" "$2" "$3" ] || {
		echo "sample: $4: $1, which is not $2 $3"
		exit 1
	}
	echo "$4: $1"
}

# shellcheck disable=SC2046 # flags are words
"${CC:-cc}" -shared -fPIC -Wall -Wextra -Wconversion -o sample.so sample.c \
	$(pkg-config --cflags nopal)
"$nopal" check sample.conf
