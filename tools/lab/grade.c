/* SPDX-License-Identifier: MIT */
/* grade.c -- a submission held against the rubric of its lab. */
#include "lab/grade.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/own.h"
#include "lab/feedback.h"
#include "lab/quiz.h"

enum {
	/* Of an item's trials, one in so many runs with sanitizers, and at least one. */
	GRADE_SANITIZED_SHARE = 20,
	GRADE_STREAM_HIDDEN = 1 << 20,
};

/* One item at work. */
struct grade_work {
	struct bench *bench;
	struct grade_result *result;
	struct own *own; /* the student's cases */
	unsigned seeds;
	struct quiz_verdicts *verdicts; /* on the answers; none before they are asked for */
};

/* A trial of an item: of a case in the language of scenarios, or of a function. */
struct grade_case {
	const struct lab_scenario *scenario; /* NULL: the item's function */
	const char *name;
	unsigned index; /* among the item's cases */
};

/* Runs the check; where it fails the result has the reason. */
static struct lab_trial *grade_try(const struct grade_work *work, const struct grade_case *what,
				   uint64_t seed)
{
	struct lab_trial *trial = lab_trial_new(&work->bench->lab, what->name, seed);

	if (what->scenario)
		lab_scenario_run(trial, what->scenario);
	else
		work->result->item->run(trial);
	return trial;
}

/* The failed trial once more, with all that helps to understand it.  Its hosts are fresh: where it
 * goes well in them, the part remembers something of the trials before. */
static void grade_failed(const struct grade_work *work, const struct grade_case *what,
			 const struct lab_trial *failed)
{
	struct grade_result *result = work->result;
	uint64_t seed = failed->seed;

	work->bench->lab.traced = true;
	result->trial = grade_try(work, what, seed);
	work->bench->lab.traced = false;
	result->passed = false;
	result->seed = seed;
	result->case_name = tool_need(strdup(what->name));
	result->trial->name = result->case_name; /* which lives as long */
	if (!result->trial->failed)
		lab_fail(result->trial, result->trial->now_ns,
			 "after other trials in the same process it fails, and in a fresh one it "
			 "does not: a static variable remembers them? (%s)",
			 lab_trial_reason(failed));
	result->reason = tool_need(strdup(lab_trial_reason(result->trial)));
	for (int host = 0; host < result->trial->host_count && !result->holders; host++)
		if (lab_host_code(result->trial, host) == LAB_STUDENT)
			result->holders = lab_holders(result->trial, host);
	feedback_steps(result->trial);
	lab_trial_finish(result->trial);
}

static uint64_t grade_seed(const struct grade_work *work, const struct grade_case *what,
			   unsigned number)
{
	const struct lab_item *item = work->result->item;

	if (!item->hidden)
		return number + 1;
	return secret_seed(work->bench->lab.secret, GRADE_STREAM_HIDDEN + number,
			   (uint64_t)(item - work->bench->lab.lab->items) << 16 | what->index);
}

/* All seeds of one case, until one fails. */
static void grade_case(struct grade_work *work, const struct grade_case *what)
{
	unsigned sanitized = work->seeds / GRADE_SANITIZED_SHARE + 1;

	for (unsigned i = 0; i < work->seeds && work->result->passed; i++) {
		uint64_t seed = grade_seed(work, what, i);
		struct lab_trial *trial;

		bench_use(work->bench, i < sanitized ? BENCH_SANITIZED : BENCH_FAST);
		trial = grade_try(work, what, seed);
		work->result->trials++;
		if (trial->failed)
			grade_failed(work, what, trial);
		lab_trial_free(trial);
	}
}

static void grade_scenarios(struct grade_work *work, const char *text, const char *file)
{
	struct nopal_problems problems = { 0 };
	struct lab_scenarios scenarios;

	if (lab_scenarios_parse(text, file, &scenarios, &problems) < 0) {
		work->result->passed = false;
		work->result->case_name = tool_need(strdup(file));
		work->result->reason = tool_printed(
			"line %d: %s", problems.count ? problems.entries[0].line : 0,
			problems.count ? problems.entries[0].cause : "it cannot be read");
	}
	for (size_t i = 0; i < scenarios.count && work->result->passed; i++)
		grade_case(work, &(struct grade_case){ &scenarios.list[i], scenarios.list[i].name,
						       (unsigned)i });
	lab_scenarios_fini(&scenarios);
	nopal_problems_fini(&problems);
}

/* Opens the student's own cases, once.  False: they are not to be run, and the result says why. */
static bool grade_open_own(struct grade_work *work)
{
	struct grade_result *result = work->result;
	struct own *own = work->own;

	if (!own->is_open)
		own_open(own, work->bench);
	if (own->fault) {
		result->reason = tool_need(strdup(own->fault));
		result->case_name = tool_need(strdup(own_file));
	} else if (own->broken) {
		result->reason =
			tool_printed("with a right part, too, the case fails: %s", own->reason);
		result->case_name = tool_need(strdup(own->broken->name));
	}
	return !own->fault && !own->broken;
}

/* A mutant that the student's own cases are to notice. */
static void grade_mutant(struct grade_work *work)
{
	struct grade_result *result = work->result;
	unsigned before = work->own->trials;

	result->passed = grade_open_own(work);
	if (result->passed && !own_catches(work->own, work->bench, result->item->mutant)) {
		result->passed = false;
		result->reason = tool_printed("of %zu cases none fails with such a part",
					      work->own->cases.count);
		result->case_name = tool_need(strdup(own_file));
	}
	result->trials = work->own->trials - before;
}

/* An answer in the student's folder. */
static void grade_answer(struct grade_work *work)
{
	struct grade_result *result = work->result;
	int which = result->item->question - 1;

	if (!work->verdicts->count)
		quiz_verdicts(work->bench->lab.lab, work->bench->folder, work->verdicts);
	result->passed = which < work->verdicts->count &&
			 work->verdicts->list[which].verdict == LAB_ANSWER_RIGHT;
	if (result->passed || which >= work->verdicts->count)
		return;
	result->case_name = tool_need(strdup(work->verdicts->list[which].question));
	result->reason = tool_need(strdup(work->verdicts->list[which].why));
}

static void grade_item(struct grade_work *work)
{
	const struct lab_item *item = work->result->item;
	char *path, *text;

	work->result->passed = true;
	if (item->cases) {
		grade_scenarios(work, item->cases, item->name);
	} else if (item->file) {
		path = tool_printed("%s/%s", work->bench->lab.handout, item->file);
		text = lab_read_file(path, LAB_FILE_MAX);
		grade_scenarios(work, text ? text : "", item->file);
		free(text);
		free(path);
	} else if (item->run) {
		grade_case(work, &(struct grade_case){ NULL, item->name, 0 });
	} else if (item->mutant) {
		grade_mutant(work);
	} else if (item->question) {
		grade_answer(work);
	}
}

static void grade_add(struct grade *grade, const struct grade_result *result)
{
	grade->results =
		tool_need(realloc(grade->results, (grade->count + 1) * sizeof(*grade->results)));
	grade->results[grade->count++] = *result;
	grade->points += result->passed ? result->item->points : 0;
	grade->trials += result->trials;
}

/* Where no mutant is shown: what a right part and the student's own do with the student's cases.
 * Without points, it helps to write cases that tell one from the other. */
static void grade_own(struct bench *bench, struct own *own, struct grade *grade)
{
	static const struct lab_item items[] = {
		{ .name = "a right part passes the cases of my_cases.txt",
		  .section = "To do",
		  .hint = "what a right part fails tells nothing of a wrong one" },
		{ .name = "this part passes the cases of my_cases.txt",
		  .section = "To do",
		  .hint = "a right part passes the case: where does this one differ?" },
	};
	struct grade_result right = { .item = &items[0] }, yours = { .item = &items[1] };
	struct grade_work work = { bench, &right, own, 1, NULL };

	right.passed = grade_open_own(&work);
	right.trials = own->trials;
	if (own->is_missing) {
		free(right.case_name);
		free(right.reason);
		return;
	}
	grade_add(grade, &right);
	if (!right.passed)
		return;
	yours.passed = true;
	work.result = &yours;
	for (size_t i = 0; i < own->cases.count && yours.passed; i++)
		grade_case(&work, &(struct grade_case){ &own->cases.list[i],
							own->cases.list[i].name, (unsigned)i });
	grade_add(grade, &yours);
}

bool grade_submission(const struct lab *lab, const char *folder,
		      const struct grade_options *options, struct grade *ret_grade)
{
	struct bench bench;
	bool good = bench_open(&bench, lab, folder, options->secret);
	struct quiz_verdicts verdicts = { 0 };
	struct own own = { .is_open = false };
	bool has_mutants = false;
	unsigned planned = 0;

	*ret_grade = (struct grade){ .lab = lab };
	for (const struct lab_item *item = lab->items; item->name; item++) {
		planned += item->seeds;
		has_mutants |= item->mutant != NULL;
		ret_grade->possible += item->hidden && !options->hidden ? 0 : item->points;
	}
	for (const struct lab_item *item = lab->items; item->name && good; item++) {
		struct grade_result result = { .item = item };
		struct grade_work work = { &bench, &result, &own, item->seeds, &verdicts };

		if (item->hidden && !options->hidden)
			continue;
		if (options->seeds && item->seeds > 1)
			work.seeds = (unsigned)((uint64_t)item->seeds * options->seeds / planned);
		work.seeds += work.seeds == 0;
		grade_item(&work);
		grade_add(ret_grade, &result);
	}
	if (good && has_mutants && !options->hidden)
		grade_own(&bench, &own, ret_grade);
	if (!good && bench.errors) {
		ret_grade->errors = bench.errors;
		bench.errors = NULL;
		good = true;
	}
	own_close(&own);
	bench_close(&bench);
	return good;
}

void grade_fini(struct grade *grade)
{
	for (size_t i = 0; i < grade->count; i++) {
		struct grade_result *result = &grade->results[i];

		if (result->trial)
			lab_trial_free(result->trial);
		free(result->case_name);
		free(result->reason);
		free(result->holders);
	}
	free(grade->results);
	free(grade->errors);
}
