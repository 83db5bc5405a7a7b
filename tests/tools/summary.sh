#!/bin/sh
# SPDX-License-Identifier: MIT
# summary -- what `tools/test` says of a run: a line a suite, a failure with all it said,
# the reason of what was skipped, and the totals; nothing of what was well.
set -eu
summary=$(cd "$(dirname "$0")/.." && pwd)/summary.awk
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/results" <<'END'
1/5 nopal:runtime / wire                 OK               0.25s
 2/5 nopal:tools+scripts / tun           SKIP             0.03s   exit status 77
 3/5 nopal:tools / part                  FAIL             1.50s   exit status 1
 4/5 nopal:laws+long / sweep             TIMEOUT        600.01s   killed by signal 15 SIGTERM
 5/5 nopal:io / fragments                SKIP             0.01s   exit status 77
END
block() { # TEST STATUS OUTPUT
	printf '=================== 1/5 ====================\n'
	printf 'test:         %s\nresult:       %s\n' "$1" "$2"
	printf '%s\n' '----------- stdout -----------' "$3" '============================'
}
{
	block 'nopal:runtime / wire' 'exit status 0' 'all is well'
	block 'nopal:tools+scripts / tun' 'exit status 77' 'needs root'
	block 'nopal:tools / part' 'exit status 1' "$(printf 'first\n\nsecond')"
	block 'nopal:laws+long / sweep' 'killed by signal 15' 'test: a word of its own'
	block 'nopal:io / fragments' 'exit status 77' ''
} >"$folder/log"
awk -v totals="$folder/totals" -f "$summary" "$folder/results" "$folder/log" |
	sed 's/  *$//; s/   */  /g' >"$folder/said"
cat >"$folder/expected" <<'END'
  io  0 passed, 1 skipped  0 s
  skipped fragments: no reason is given
  laws  0 passed, 1 FAILED  600 s
  FAILED sweep (TIMEOUT, 600.01s, killed by signal 15 SIGTERM)
  test: a word of its own
  runtime  1 passed  0 s
  tools  0 passed, 1 FAILED, 1 skipped  2 s
  skipped tun: needs root
  FAILED part (FAIL, 1.50s, exit status 1)
  first
  second
END
diff "$folder/expected" "$folder/said"
printf '1 2 2\nlaws / sweep\ntools / part\n' | diff - "$folder/totals"
