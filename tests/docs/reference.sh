#!/bin/sh
# SPDX-License-Identifier: MIT
# reference BUILD_DOCS -- the reference of the public headers was made without a complaint, and has
# each of their functions with a description.
set -eu
cd "$1"
bad=0
# Members may go without a description of their own, functions may not.
sed -n '/(\(variable\|enumvalue\|macro definition\|typedef\|enumeration\)) of .* is not documented/d
	/^[^ ].*warning: Compound .* is not documented/d; s|.*/runtime/|runtime/|; /warning:/p' \
	reference.log | sort -u >reference.faults
[ ! -s reference.faults ] || { cat reference.faults; bad=1; }

for name in nopal_open nopal_live_fd nopal_connection_fd nopal_timer_start messages_delivered; do
	grep -rql "$name" reference/*.html || { echo "the reference does not have $name"; bad=1; }
done
count=$(cat reference/globals_func*.html | grep -o '>nopal_[a-z_0-9]*()' | sort -u | wc -l)
[ "$count" -ge 200 ] || { echo "only $count functions are in the reference"; bad=1; }
exit $bad
