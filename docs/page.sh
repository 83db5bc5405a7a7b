#!/bin/sh
# SPDX-License-Identifier: MIT
# page.sh NOPAL AWK SOURCE -- the manual page of the microprotocol in SOURCE: purpose, papers and
# drawing from its head comment, all else from its descriptor.
set -eu
name=$(basename "$3" .c)
awk -f "$2" "$3"
"$1" doc "$name" --markdown | sed 1d
