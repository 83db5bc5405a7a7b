# SPDX-License-Identifier: MIT
# summary.awk -- what came of one run of `meson test`, for people: a line a suite, each
# failure with all it said, each skipped test with its reason.
#
#     awk -v totals=FILE -f summary.awk RESULTS TESTLOG
#
# RESULTS is what the runner printed, TESTLOG its meson-logs/testlog.txt.  FILE gets
# "PASSED FAILED SKIPPED", then "SUITE / TEST" of each that failed, a line each.

FNR == 1 { part++ }

# " 12/220 nopal:tools+scripts / sim   OK   1.23s   exit status 0"
part == 1 && /^ *[0-9]+\/[0-9]+ +[a-z_]+:[^ ]* \/ / {
	test = $2 " / " $4
	suite = $2
	sub(/^[^:]*:/, "", suite)
	sub(/[+].*/, "", suite)
	if (!(suite in seconds))
		suites[++suite_count] = suite
	seconds[suite] += $6
	if ($5 == "OK" || $5 == "EXPECTEDFAIL") {
		passed[suite]++
	} else if ($5 == "SKIP") {
		skipped[suite]++
		about[test] = suite
		skips[suite] = skips[suite] test "\n"
	} else {
		failed[suite]++
		about[test] = suite
		failures[suite] = failures[suite] test "\n"
		end[test] = $5 ", " $6
		for (i = 7; i <= NF; i++)
			end[test] = end[test] (i == 7 ? ", " : " ") $i
	}
}

part == 2 && /^=+ +[0-9]+\/[0-9]+ +=+$/ { test = ""; next }
part == 2 && /^=+$/ { saying = 0; next }
part == 2 && /^test: +/ && test == "" { test = $2 " / " $4; saying = 0; next }
part == 2 && /^-+ (stdout|stderr) -+$/ { saying = test in about; next }
saying && NF {
	said[test] = said[test] "        " $0 "\n"
	if (!(test in reason))
		reason[test] = $0
}

function name_of(test) {
	sub(/^.* \/ /, "", test)
	return test
}

function show_skips(suite, list, count, i) {
	count = split(skips[suite], list, "\n")
	for (i = 1; i < count; i++) {
		if (!(list[i] in reason))
			reason[list[i]] = "no reason is given"
		printf "    skipped %s: %s\n", name_of(list[i]),
			substr(reason[list[i]], 1, 120)
	}
}

function show_failures(suite, list, count, i) {
	count = split(failures[suite], list, "\n")
	for (i = 1; i < count; i++) {
		printf "    FAILED %s (%s)\n%s", name_of(list[i]), end[list[i]],
			said[list[i]]
		failed_names = failed_names suite " / " name_of(list[i]) "\n"
	}
}

function sort_suites(i, j, held) {
	for (i = 2; i <= suite_count; i++) {
		held = suites[i]
		for (j = i - 1; j >= 1 && suites[j] > held; j--)
			suites[j + 1] = suites[j]
		suites[j + 1] = held
	}
}

END {
	sort_suites()
	for (i = 1; i <= suite_count; i++) {
		suite = suites[i]
		line = (passed[suite] + 0) " passed"
		if (failed[suite])
			line = line ", " failed[suite] " FAILED"
		if (skipped[suite])
			line = line ", " skipped[suite] " skipped"
		printf "  %-16s %-32s %5.0f s\n", suite, line, seconds[suite]
		show_skips(suite)
		show_failures(suite)
		all_passed += passed[suite]
		all_failed += failed[suite]
		all_skipped += skipped[suite]
	}
	printf "%d %d %d\n%s", all_passed, all_failed, all_skipped,
		failed_names >totals
}
