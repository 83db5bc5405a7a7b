/* SPDX-License-Identifier: MIT */
/*
 * labs.c -- `nopal lab`: a course in transport protocols that grades itself.
 *
 * A folder that `start` made holds lab.txt, which names the lab and the student's id; all other
 * commands read it there.
 */
#include "labs/labs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "frame/tool.h"
#include "lab/class.h"
#include "lab/feedback.h"
#include "lab/grade.h"
#include "lab/quiz.h"
#include "lab/spawner.h"
#include "labs/tournament.h"

enum { LABS_FILE_MAX = 4096 /* of lab.txt */ };

const struct lab *const labs_all[] = {
	&lab_00_hello,
	&lab_01_hold_bits,
	&lab_02_vanilla_udp,
	&lab_03_delay,
	&lab_04_corruption,
	&lab_05_duplication,
	&lab_06_loss,
	&lab_07_sliding_window,
	&lab_08_streaming,
	&lab_09_erasure_codes,
	&lab_10_congestion_control,
	&lab_11_one_to_many,
	&lab_12_compose,
	NULL,
};

const struct lab *labs_find(const char *word)
{
	for (const struct lab *const *lab = labs_all; *lab; lab++) {
		char *folder = tool_printed("%02d-%s", (*lab)->number, (*lab)->name);
		bool is_folder = strcmp(folder, word) == 0;
		char *end;
		long number = strtol(word, &end, 10);

		free(folder);
		if (is_folder || strcmp((*lab)->name, word) == 0 ||
		    (*word && !*end && number == (*lab)->number))
			return *lab;
	}
	return NULL;
}

const struct lab *labs_of(const char *folder)
{
	char *path = tool_printed("%s/lab.txt", folder), *text = lab_read_file(path, LABS_FILE_MAX);
	const struct lab *lab = NULL;

	if (text) {
		text[strcspn(text, " \n")] = '\0';
		lab = labs_find(text);
	}
	if (!lab)
		fprintf(stderr,
			"nopal: %s does not name a lab\n  fix: `nopal lab start NUMBER %s` makes "
			"such a folder\n",
			path, folder);
	free(text);
	free(path);
	return lab;
}

/* ------------------------------------------------------------------------ commands */

static enum tool_exit labs_list(const struct tool_call *call)
{
	(void)call;
	for (const struct lab *const *lab = labs_all; *lab; lab++)
		printf("%2d  %-20s %s\n", (*lab)->number, (*lab)->name, (*lab)->title);
	return TOOL_GOOD;
}

/* Copies a file of the hand-out; what is there already stays. */
static bool start_copy(const char *from, const char *to, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *source = tool_printed("%s/%s", from, name);
	char *target = tool_printed("%s/%s", to, slash ? slash + 1 : name);
	char *text = lab_read_file(source, LAB_FILE_MAX);
	FILE *out = text ? fopen(target, "wx") : NULL;
	bool good = out && fputs(text, out) >= 0;

	if (out && fclose(out))
		good = false;
	if (!text)
		fprintf(stderr, "nopal: there is no %s\n  fix: install Nopal whole\n", source);
	else if (!good)
		fprintf(stderr, "nopal: cannot write %s: %s\n  fix: name a new folder\n", target,
			strerror(errno));
	free(text);
	free(source);
	free(target);
	return good;
}

static enum tool_exit labs_start(const struct tool_call *call)
{
	const struct lab *lab = call->word_count > 1 ? labs_find(call->words[1]) : NULL;
	const char *to = call->word_count > 2 ? call->words[2] : NULL;
	const char *id = tool_value(call, "id");
	char *from, *path;
	bool good;
	FILE *out;

	if (!lab || !to) {
		fputs("nopal: which lab, and where?\n  fix: nopal lab start NUMBER FOLDER; `nopal "
		      "lab list` lists them\n",
		      stderr);
		return TOOL_BAD_INPUT;
	}
	if (mkdir(to, 0777) < 0 && errno != EEXIST) {
		fprintf(stderr, "nopal: cannot make %s: %s\n  fix: name a new folder\n", to,
			strerror(errno));
		return TOOL_ENVIRONMENT;
	}
	from = lab_handout(lab);
	good = start_copy(from, to, "README.md");
	for (const char *const *file = lab->files; *file && good; file++) {
		good = start_copy(from, to, *file);
		if (good && strcmp(*file, "cases.txt") == 0)
			good = start_copy(from, to, "../cases.md");
	}
	free(from);
	path = tool_printed("%s/lab.txt", to);
	out = good ? fopen(path, "wx") : NULL;
	if (out)
		fprintf(out, "%02d-%s %s\n", lab->number, lab->name, id ? id : "");
	good = out && fclose(out) == 0;
	free(path);
	if (!good || !quiz_write(lab, id ? id : "", to))
		return TOOL_ENVIRONMENT;
	printf("%s has lab %d: read README.md there, then\n\n  nopal lab try %s\n", to, lab->number,
	       to);
	return TOOL_GOOD;
}

static void grade_print(const struct grade *grade)
{
	if (grade->errors) {
		printf("It does not compile:\n%s", grade->errors);
		return;
	}
	for (size_t i = 0; i < grade->count; i++) {
		const struct grade_result *result = &grade->results[i];

		printf("  %-6s %3d  %s\n", result->passed ? "ok" : "FAILED",
		       result->passed ? result->item->points : 0, result->item->name);
		if (result->passed)
			continue;
		printf("             case: %s; seed %llu\n             %s\n",
		       result->case_name ? result->case_name : "", (unsigned long long)result->seed,
		       result->reason ? result->reason : "");
		if (result->item->hint)
			printf("             hint: %s (\"%s\" in README.md)\n", result->item->hint,
			       result->item->section);
	}
	printf("\n%d of %d points, %u trials\n", grade->points, grade->possible, grade->trials);
}

/* The first failure in full: as text, and as a page beside the submission. */
static void grade_explain(const struct lab *lab, const struct grade *grade, const char *folder)
{
	const struct grade_result *result = grade->results;

	while (result < grade->results + grade->count && (result->passed || !result->trial))
		result++;
	if (result == grade->results + grade->count)
		return;
	feedback_print(lab, result, stdout);
	if (feedback_write(lab, result, folder))
		printf("\nThe same as a page: %s/feedback.html; `nopal why %s/host-0.trace` tells "
		       "more\n",
		       folder, folder);
}

/* Opens the file of an option; NULL and false: a problem was printed. */
static bool labs_out(const struct tool_call *call, const char *option, FILE **ret_out)
{
	const char *path = tool_value(call, option);

	*ret_out = path ? fopen(path, "w") : NULL;
	if (!path || *ret_out)
		return true;
	fprintf(stderr,
		"nopal: cannot write %s: %s\n  fix: --%s names a file in a folder of yours\n", path,
		strerror(errno), option);
	return false;
}

static enum tool_exit labs_closed(FILE *out, const char *path, enum tool_exit result)
{
	if (!out || fclose(out) == 0)
		return result;
	fprintf(stderr, "nopal: cannot write %s: %s\n  fix: make room there\n", path,
		strerror(errno));
	return TOOL_ENVIRONMENT;
}

/* The forms for other programs. */
static enum tool_exit grade_files(const struct tool_call *call, const struct grade *grade,
				  enum tool_exit result)
{
	FILE *json, *junit;
	json_t *results;

	if (!labs_out(call, "out", &json) || !labs_out(call, "junit", &junit))
		return TOOL_ENVIRONMENT;
	if (json) {
		results = results_json(grade);
		json_dumpf(results, json, JSON_INDENT(2));
		fputc('\n', json);
		json_decref(results);
	}
	if (junit)
		results_junit(grade, junit);
	result = labs_closed(json, tool_value(call, "out"), result);
	return labs_closed(junit, tool_value(call, "junit"), result);
}

static enum tool_exit labs_grade(const struct tool_call *call, bool hidden)
{
	const char *folder = call->word_count > 1 ? call->words[1] : ".";
	const struct lab *lab = labs_of(folder);
	struct grade_options options = { .secret = tool_value(call, "secret"), .hidden = hidden };
	enum tool_exit result;
	int64_t seeds = 0;
	struct grade grade;

	if (!lab || !tool_quantity(call, "seeds", NOPAL_COUNT, 0, &seeds))
		return TOOL_BAD_INPUT;
	options.seeds = (unsigned)seeds;
	if (!grade_submission(lab, folder, &options, &grade))
		return TOOL_ENVIRONMENT;
	printf("Lab %d, %s\n\n", lab->number, lab->title);
	grade_print(&grade);
	if (!hidden)
		grade_explain(lab, &grade, folder);
	/* Where answers have points, they have been told. */
	if (!lab->items->question && !quiz_judge(lab, folder, stdout))
		return TOOL_ENVIRONMENT;
	result = grade.points == grade.possible ? TOOL_GOOD : TOOL_FAILED;
	result = grade_files(call, &grade, result);
	grade_fini(&grade);
	return result;
}

static enum tool_exit labs_report(const struct tool_call *call)
{
	struct grade_options options = { .secret = tool_value(call, "secret"), .hidden = true };
	struct class class = { .count = (size_t)call->word_count - 1 };
	int64_t seeds = 0, jobs = get_nprocs();
	enum tool_exit result = TOOL_GOOD;
	FILE *html, *csv;

	if (!class.count || !tool_quantity(call, "seeds", NOPAL_COUNT, 0, &seeds) ||
	    !tool_quantity(call, "jobs", NOPAL_COUNT, jobs, &jobs)) {
		fputs("nopal: nothing to report\n  fix: nopal lab report FOLDER...\n", stderr);
		return TOOL_BAD_INPUT;
	}
	options.seeds = (unsigned)seeds;
	class.submissions = tool_need(calloc(class.count, sizeof(*class.submissions)));
	for (size_t i = 0; i < class.count; i++) {
		const struct lab *lab = labs_of(call->words[i + 1]);

		class.submissions[i].folder = call->words[i + 1];
		if (lab && class.lab && lab != class.lab)
			fprintf(stderr,
				"nopal: %s is of another lab than %s\n  fix: report a lab "
				"at a time\n",
				call->words[i + 1], call->words[1]);
		if (!lab || (class.lab && lab != class.lab)) {
			class_fini(&class);
			return TOOL_BAD_INPUT;
		}
		class.lab = lab;
	}
	if (labs_out(call, "html", &html) && labs_out(call, "csv", &csv)) {
		class_grade(&class, &options, (int)jobs);
		class_print(&class, stdout);
		if (html)
			class_page(&class, html);
		if (csv)
			class_csv(&class, csv);
		result = labs_closed(html, tool_value(call, "html"), result);
		result = labs_closed(csv, tool_value(call, "csv"), result);
	} else {
		result = TOOL_ENVIRONMENT;
	}
	class_fini(&class);
	return result;
}

static enum tool_exit labs_run(const struct tool_call *call)
{
	const char *word = call->words[0];

	if (strcmp(word, "list") == 0)
		return labs_list(call);
	if (strcmp(word, "start") == 0)
		return labs_start(call);
	if (strcmp(word, "try") == 0)
		return labs_grade(call, false);
	if (strcmp(word, "grade") == 0)
		return labs_grade(call, true);
	if (strcmp(word, "report") == 0)
		return labs_report(call);
	if (strcmp(word, "tournament") == 0)
		return tournament(call);
	if (strcmp(word, "spawn") == 0)
		return (enum tool_exit)spawner_serve();
	fprintf(stderr,
		"nopal: lab does not know `%s`\n  fix: list, start, try, grade, report or tournament\n",
		word);
	return TOOL_BAD_INPUT;
}

static const struct tool_option labs_options[] = {
	{ "id", 0, "ID", "the student, for whom questions are drawn" },
	{ "seeds", 0, "N", "trials in all (default: those of the rubric)" },
	{ "secret", 0, "FILE", "seeds hidden trials with the bytes of a file" },
	{ "out", 0, "FILE", "grade: the results as Gradescope reads them" },
	{ "junit", 0, "FILE", "grade: the results as JUnit's XML" },
	{ "jobs", 'j', "N", "report: so many at a time (default: one a processor)" },
	{ "html", 0, "FILE", "report: one page for the class" },
	{ "csv", 0, "FILE", "report: a row a submission" },
	{ "plot", 0, "FILE", "tournament: draw it, as png, svg or pdf" },
	{ 0 },
};

const struct tool tool_lab = {
	.name = "lab",
	.words = "list|start|try|grade|report|tournament ...",
	.summary = "a course in transport protocols that grades itself",
	.help = "A lab is a folder with a hand-out, a skeleton of one microprotocol and cases to "
		"try it with.\n\n"
		"  nopal lab list\n"
		"  nopal lab start 6 my-lab --id ID    a folder to work in\n"
		"  nopal lab try my-lab                visible cases, with the steps of the first "
		"failure\n"
		"  nopal lab grade my-lab              all cases, and points\n"
		"  nopal lab report class/*            for the teacher: a whole class\n"
		"  nopal lab tournament class/*        rules of lab 10 against each other",
	.min_words = 1,
	.max_words = -1,
	.options = labs_options,
	.run = labs_run,
};
