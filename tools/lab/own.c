/* SPDX-License-Identifier: MIT */
/*
 * own.c -- the student's own cases: they are run with the reference in the student's place, and
 * with mutants of it.
 *
 * All code that runs is the teacher's, but a case may ask for much: so these trials have less of
 * everything than those of the rubric.
 */
#include "lab/own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"

const char own_file[] = "my_cases.txt";
/* The same for every submission: what a student's case says does not hang on luck. */
enum { OWN_SEED = 1, OWN_FILE_MAX = 64 << 10 };
static const struct lab_limits own_limits = { .process = { 2 * NOPAL_SECOND, 256 << 20 },
					      .turns = 200000,
					      .datagrams = 50000 };

/* The first case that fails with what the bench has in the student's place; NULL: all hold. */
static const struct lab_scenario *own_first(struct own *own, const struct bench *bench)
{
	const struct lab_scenario *first = NULL;

	own->bench = bench->lab;
	own->bench.limits = own_limits;
	for (size_t i = 0; i < own->cases.count && !first; i++) {
		const struct lab_scenario *scenario = &own->cases.list[i];
		struct lab_trial *trial = lab_trial_new(&own->bench, scenario->name, OWN_SEED);

		lab_scenario_run(trial, scenario);
		own->trials++;
		if (trial->failed) {
			first = scenario;
			free(own->reason);
			own->reason = tool_need(strdup(lab_trial_reason(trial)));
		}
		lab_trial_free(trial);
	}
	return first;
}

/* A student's cases cost the grader time, and so have a limit that those of the rubric have not. */
static char *own_too_much(const struct own *own)
{
	uint64_t messages = 0;

	for (size_t i = 0; i < own->cases.count; i++)
		messages += own->cases.list[i].messages;
	if (own->cases.count > OWN_CASES)
		return tool_printed("%s has %zu cases, and may have %d", own_file, own->cases.count,
				    OWN_CASES);
	if (messages > OWN_MESSAGES)
		return tool_printed("the cases of %s send %" PRIu64 " messages, and may send %d",
				    own_file, messages, OWN_MESSAGES);
	return NULL;
}

static char *own_read(struct own *own, const char *folder)
{
	char *path = tool_printed("%s/%s", folder, own_file);
	char *text = lab_read_file(path, OWN_FILE_MAX), *fault;
	struct nopal_problems problems = { 0 };

	free(path);
	own->is_missing = !text;
	if (!text)
		return tool_printed("there is no %s of at most %d KiB", own_file,
				    OWN_FILE_MAX >> 10);
	if (lab_scenarios_parse(text, own_file, &own->cases, &problems) == 0)
		fault = own_too_much(own);
	else if (problems.count)
		fault = tool_printed("line %d: %s", problems.entries[0].line,
				     problems.entries[0].cause);
	else
		fault = tool_printed("it cannot be read");
	nopal_problems_fini(&problems);
	free(text);
	return fault;
}

void own_open(struct own *own, struct bench *bench)
{
	*own = (struct own){ .is_open = true };
	own->fault = own_read(own, bench->folder);
	if (!own->fault && bench_use_mutant(bench, NULL))
		own->broken = own_first(own, bench);
}

bool own_catches(struct own *own, struct bench *bench, const char *mutant)
{
	return bench_use_mutant(bench, mutant) && own_first(own, bench) != NULL;
}

void own_close(struct own *own)
{
	lab_scenarios_fini(&own->cases);
	free(own->fault);
	free(own->reason);
}
