#!/bin/sh
# SPDX-License-Identifier: MIT
# lengths SOURCE -- files under 600 lines, no function above 60 lines, half of them 12 or shorter.
set -eu
cd "$1"

find runtime microprotocols tools tests -name '*.[ch]' -exec awk '
	function ended() {
		if (last > 600) {
			printf "%s: %d lines, limit 600\n", file, last
			bad = 1
		}
	}
	FNR == 1 { ended(); file = FILENAME; inside = 0 }
	{ last = FNR }
	/^[A-Za-z_].*[(]/ { name = $0 }
	/^[{]$/ { start = FNR; inside = 1 }
	/^[}]/ {
		if (inside) {
			length_of = FNR - start - 1
			count[length_of]++
			total++
			if (length_of > 60) {
				printf "%s:%d: function of %d lines: %s\n", \
					file, start, length_of, substr(name, 1, 60)
				bad = 1
			}
		}
		inside = 0
	}
	END {
		ended()
		for (i = 0; sum * 2 < total; i++)
			sum += count[i]
		printf "%d functions, median %d lines\n", total, i - 1
		if (i - 1 > 12) {
			print "the median is above 12"
			bad = 1
		}
		exit bad
	}' {} +
