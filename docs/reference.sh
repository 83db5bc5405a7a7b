#!/bin/sh
# SPDX-License-Identifier: MIT
# reference.sh DOXYGEN DOXYFILE FOLDER -- makes the reference in FOLDER anew.
set -eu
rm -rf "$3"
"$1" "$2"
