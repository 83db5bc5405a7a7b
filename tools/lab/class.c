/* SPDX-License-Identifier: MIT */
/* class.c -- all submissions of a class, graded side by side. */
#include "lab/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"

/* A grader at work on one submission, in a process of its own. */
struct class_job {
	pid_t pid; /* 0: none */
	size_t submission;
	FILE *results;
};

/* ----------------------------------------------------------------------- grading */

static void class_work(const struct class *class, const struct class_submission *submission,
		       const struct grade_options *options, FILE *out)
{
	struct grade grade;
	json_t *results;

	if (!grade_submission(class->lab, submission->folder, options, &grade))
		_exit(TOOL_ENVIRONMENT);
	results = results_json(&grade);
	if (json_dumpf(results, out, 0) < 0 || fflush(out))
		_exit(TOOL_ENVIRONMENT);
	json_decref(results);
	grade_fini(&grade);
	_exit(TOOL_GOOD);
}

static bool class_begin(const struct class *class, const struct grade_options *options,
			size_t submission, struct class_job *job)
{
	job->submission = submission;
	job->results = tmpfile();
	if (!job->results)
		return false;
	fflush(stdout);
	job->pid = fork();
	if (job->pid == 0)
		class_work(class, &class->submissions[submission], options, job->results);
	if (job->pid > 0)
		return true;
	job->pid = 0;
	fclose(job->results);
	return false;
}

/* The job that ends next has its results in the class. */
static void class_end_one(struct class *class, struct class_job *jobs, int count)
{
	pid_t pid = waitpid(-1, NULL, 0);

	for (int i = 0; i < count; i++)
		if (jobs[i].pid && jobs[i].pid == pid) {
			rewind(jobs[i].results);
			class->submissions[jobs[i].submission].results =
				json_loadf(jobs[i].results, 0, NULL);
			fclose(jobs[i].results);
			jobs[i].pid = 0;
		}
}

static struct class_job *class_free_job(struct class_job *jobs, int count)
{
	for (int i = 0; i < count; i++)
		if (!jobs[i].pid)
			return &jobs[i];
	return NULL;
}

/* Sources alone are compared: without C there is nothing to hide. */
static void class_compare(struct class *class)
{
	char *folder = lab_handout(class->lab), *path, *text;
	struct similar skeleton = { 0 };

	if (!class->lab->part) {
		free(folder);
		return;
	}
	path = tool_printed("%s/%s.c", folder, class->lab->part);
	text = lab_read_file(path, LAB_FILE_MAX);
	similar_read(text ? text : "", NULL, &skeleton);
	free(text);
	free(path);
	free(folder);
	for (size_t i = 0; i < class->count; i++) {
		path = tool_printed("%s/%s.c", class->submissions[i].folder, class->lab->part);
		text = lab_read_file(path, LAB_FILE_MAX);
		similar_read(text ? text : "", &skeleton, &class->submissions[i].similar);
		free(text);
		free(path);
	}
	similar_fini(&skeleton);
}

void class_grade(struct class *class, const struct grade_options *options, int jobs)
{
	struct class_job *list = tool_need(calloc((size_t)jobs, sizeof(*list)));
	size_t begun = 0, running = 0;

	while (begun < class->count || running) {
		struct class_job *job = begun < class->count ? class_free_job(list, jobs) : NULL;

		if (job) {
			running += class_begin(class, options, begun, job);
			begun++;
		} else {
			class_end_one(class, list, jobs);
			running--;
		}
	}
	free(list);
	class_compare(class);
}

void class_fini(struct class *class)
{
	for (size_t i = 0; i < class->count; i++) {
		json_decref(class->submissions[i].results);
		similar_fini(&class->submissions[i].similar);
	}
	free(class->submissions);
}

/* ----------------------------------------------------------------------- reading */

int class_points(const struct class_submission *submission)
{
	return (int)json_integer_value(json_object_get(submission->results, "score"));
}

static const json_t *class_item(const struct class_submission *submission, size_t item)
{
	return json_array_get(json_object_get(submission->results, "tests"), item);
}

int class_item_points(const struct class_submission *submission, size_t item)
{
	return (int)json_integer_value(json_object_get(class_item(submission, item), "score"));
}

const char *class_item_reason(const struct class_submission *submission, size_t item)
{
	const char *text =
		json_string_value(json_object_get(class_item(submission, item), "output"));

	return text ? text : "";
}

static int class_by_share(const void *one, const void *other)
{
	const struct class_pair *a = one, *b = other;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return a->one != b->one ? (a->one > b->one) - (a->one < b->one)
				: (a->other > b->other) - (a->other < b->other);
}

struct class_pair *class_pairs(const struct class *class, size_t *ret_count)
{
	struct class_pair *pairs = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < class->count; i++)
		for (size_t j = i + 1; j < class->count; j++) {
			double share = similar_share(&class->submissions[i].similar,
						     &class->submissions[j].similar);

			if (share <= CLASS_ALIKE)
				continue;
			if (count == room)
				pairs = tool_need(
					realloc(pairs, (room = 2 * room + 16) * sizeof(*pairs)));
			pairs[count++] = (struct class_pair){ i, j, share };
		}
	if (count)
		qsort(pairs, count, sizeof(*pairs), class_by_share);
	*ret_count = count;
	return pairs;
}

/* ------------------------------------------------------------------------ output */

void class_print(const struct class *class, FILE *out)
{
	struct class_pair *pairs;
	size_t count;

	fprintf(out, "Lab %d, %s: %zu submissions\n\n", class->lab->number, class->lab->title,
		class->count);
	for (size_t i = 0; i < class->count; i++) {
		const struct class_submission *submission = &class->submissions[i];

		fprintf(out, "  %3d  ", class_points(submission));
		for (size_t item = 0; class->lab->items[item].name; item++)
			fputc(class_item_points(submission, item) ? '+' : '.', out);
		fprintf(out, "  %s%s\n", submission->folder,
			submission->results ? "" : "  (could not be graded)");
	}
	fputs("\nitems, from left to right\n", out);
	for (size_t item = 0; class->lab->items[item].name; item++)
		fprintf(out, "  %3d  %s\n", class->lab->items[item].points,
			class->lab->items[item].name);
	pairs = class_pairs(class, &count);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%3.0f %% alike: %s, %s\n", i ? "" : "\n", 100 * pairs[i].share,
			class->submissions[pairs[i].one].folder,
			class->submissions[pairs[i].other].folder);
	free(pairs);
}

/* A field of RFC 4180. */
static void class_field(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void class_csv(const struct class *class, FILE *out)
{
	fputs("submission,points", out);
	for (size_t item = 0; class->lab->items[item].name; item++) {
		fputc(',', out);
		class_field(class->lab->items[item].name, out);
	}
	for (size_t i = 0; i < class->count; i++) {
		fputs("\r\n", out);
		class_field(class->submissions[i].folder, out);
		fprintf(out, ",%d", class_points(&class->submissions[i]));
		for (size_t item = 0; class->lab->items[item].name; item++)
			fprintf(out, ",%d", class_item_points(&class->submissions[i], item));
	}
	fputs("\r\n", out);
}
