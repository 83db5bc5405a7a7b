/* SPDX-License-Identifier: MIT */
/*
 * scenario -- fuzz target: cases of a lab, as a student writes them.
 *
 * A refused case has a problem that says why; a good one keeps to the limits of the language.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "lab/lab.h"

enum { MOST_BYTES = 64 << 20 };

static void check(const struct lab_scenario *scenario)
{
	struct nopal_link forward, reverse;

	if (!scenario->name || !scenario->link || !scenario->messages ||
	    !scenario->expectation_count || scenario->size_min > scenario->size_max)
		abort(); /* good, and not whole */
	if (nopal_link_parse(scenario->link, &forward, &reverse, NULL) < 0)
		abort();
	if (scenario->every_ns * (scenario->messages - 1) >= scenario->within_ns ||
	    (uint64_t)scenario->messages * scenario->size_max > MOST_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct nopal_problems problems = { 0 };
	struct lab_scenarios scenarios;
	char *text = calloc(1, length + 1);

	if (!text)
		abort();
	memcpy(text, bytes, length);
	if (lab_scenarios_parse(text, "cases.txt", &scenarios, &problems) == 0) {
		for (size_t i = 0; i < scenarios.count; i++)
			check(&scenarios.list[i]);
		if (!scenarios.count)
			abort();
	} else if (!problems.errors) {
		abort();
	}
	lab_scenarios_fini(&scenarios);
	nopal_problems_fini(&problems);
	free(text);
	return 0;
}
