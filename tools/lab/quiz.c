/* SPDX-License-Identifier: MIT */
/* quiz.c -- a student's own trial, and what is asked of it: see quiz.h. */
#include "lab/quiz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/bench.h"
#include "lab/feedback.h"
#include "lab/page.h"

static const char quiz_file[] = "answers.txt";
enum { QUIZ_ANSWERS_MAX = 64 << 10, QUIZ_LAB_MAX = 4096 };

enum { QUIZ_TRIALS = 16 };

struct quiz {
	struct bench bench;
	struct lab_scenarios cases;
	struct lab_trial *trial;
	struct lab_asked asked[LAB_QUESTIONS];
	int count;
};

static void quiz_close(struct quiz *quiz)
{
	if (quiz->trial)
		lab_trial_free(quiz->trial);
	lab_scenarios_fini(&quiz->cases);
	bench_close(&quiz->bench);
}

/* Runs the trial and draws the questions; false: a problem was printed. */
static bool quiz_open(struct quiz *quiz, const struct lab *lab, const char *id)
{
	uint64_t seed = lab_questions_seed(lab->name, id);
	struct nopal_problems problems = { 0 };
	int wanted;
	bool good;

	*quiz = (struct quiz){ .count = 0 };
	good = bench_open(&quiz->bench, lab, NULL, NULL) && bench_use_mutant(&quiz->bench, NULL);
	if (!good)
		return false;
	good = lab_scenarios_parse(lab->question_case, lab->name, &quiz->cases, &problems) == 0;
	tool_problems(&problems);
	if (!good)
		return false;
	/* In processes of its own: this one may have loaded the part from another folder. */
	quiz->bench.lab.spawner[LAB_REFERENCE] = &quiz->bench.spawners[BENCH_FAST];
	quiz->bench.lab.traced = true;
	wanted = lab->question_count ? lab->question_count : LAB_QUESTIONS_USUAL;
	/* A trial in which hardly anything happens, as a loss, has too few answers: the next one. */
	for (int tried = 0; tried < QUIZ_TRIALS && quiz->count < wanted; tried++, seed++) {
		if (quiz->trial)
			lab_trial_free(quiz->trial);
		quiz->trial = lab_trial_new(&quiz->bench.lab, quiz->cases.list[0].name, seed);
		lab_scenario_run(quiz->trial, &quiz->cases.list[0]);
		quiz->count =
			lab_questions_draw(quiz->trial, lab->questions, seed, wanted, quiz->asked);
	}
	if (quiz->count == wanted)
		return true;
	fprintf(stderr,
		"nopal: no questions can be asked of the own trial: %s\n"
		"  fix: --id names another student\n",
		lab_trial_reason(quiz->trial));
	return false;
}

static void quiz_page(const struct quiz *quiz, const char *id, FILE *out)
{
	const struct lab *lab = quiz->bench.lab.lab;
	char *title = tool_printed("Lab %d: %s", lab->number, lab->title);
	char *about = tool_printed("the own trial of %s", id);
	char *names[LAB_HOSTS];

	for (int host = 0; host < quiz->trial->host_count; host++)
		names[host] = tool_printed("host %d", host);
	lab_page_print(&(struct lab_page){ .lab = title,
					   .about = about,
					   .trial = quiz->trial,
					   .names = (const char *const *)names,
					   .most_rows = SIZE_MAX,
					   .asked = quiz->asked,
					   .asked_count = quiz->count },
		       out);
	for (int host = 0; host < quiz->trial->host_count; host++)
		free(names[host]);
	free(title);
	free(about);
}

/* A new file; NULL: it is there already, or a problem was printed and *ret_good is false. */
static FILE *quiz_new(const char *folder, const char *name, bool *ret_good)
{
	char *path = tool_printed("%s/%s", folder, name);
	FILE *out = fopen(path, "wx");

	if (!out && errno != EEXIST) {
		fprintf(stderr, "nopal: cannot write %s: %s\n  fix: name a folder of yours\n", path,
			strerror(errno));
		*ret_good = false;
	}
	free(path);
	return out;
}

static bool quiz_closed(FILE *out, bool good)
{
	if (out && fclose(out) != 0) {
		fprintf(stderr, "nopal: cannot write: %s\n  fix: make room there\n",
			strerror(errno));
		return false;
	}
	return good;
}

bool quiz_write(const struct lab *lab, const char *id, const char *folder)
{
	struct quiz quiz;
	bool good;
	FILE *out;

	if (!lab->questions)
		return true;
	good = quiz_open(&quiz, lab, id);
	if (good && (out = quiz_new(folder, quiz_file, &good))) {
		lab_questions_print(quiz.asked, quiz.count, out);
		good = quiz_closed(out, good);
	}
	if (good && (out = quiz_new(folder, "own.html", &good))) {
		quiz_page(&quiz, id, out);
		good = quiz_closed(out, good);
	}
	for (int host = 0; good && host < quiz.trial->host_count; host++) {
		char *name = tool_printed("own-%d.trace", host);
		int trace = lab_host_trace(quiz.trial, host);

		out = trace < 0 ? NULL : quiz_new(folder, name, &good);
		if (out)
			good = quiz_closed(out, feedback_copy(trace, out));
		free(name);
	}
	quiz_close(&quiz);
	return good;
}

char *quiz_student(const char *folder)
{
	char *path = tool_printed("%s/lab.txt", folder), *text = lab_read_file(path, QUIZ_LAB_MAX);
	const char *id = text ? text + strcspn(text, " \n") : "";
	char *student;

	id += *id == ' ';
	student = tool_need(strndup(id, strcspn(id, "\n")));
	free(text);
	free(path);
	return student;
}

/* The lines of answers.txt, where it is there. */
static bool quiz_answers(const char *folder, struct lab_answers *ret_answers)
{
	char *path = tool_printed("%s/%s", folder, quiz_file);
	char *text = lab_read_file(path, QUIZ_ANSWERS_MAX);
	struct nopal_problems problems = { 0 };
	bool found = text != NULL;

	*ret_answers = (struct lab_answers){ 0 };
	if (found)
		lab_answers_parse(text, path, ret_answers, &problems);
	tool_problems(&problems);
	free(text);
	free(path);
	return found;
}

static bool quiz_held(const struct lab *lab, const char *folder, const struct lab_answers *answers,
		      struct quiz_verdicts *ret_verdicts)
{
	char *id = quiz_student(folder);
	struct quiz quiz;
	bool good = quiz_open(&quiz, lab, id);

	*ret_verdicts = (struct quiz_verdicts){ .count = good ? quiz.count : 0 };
	for (int i = 0; i < ret_verdicts->count; i++) {
		memcpy(ret_verdicts->list[i].question, quiz.asked[i].text, LAB_QUESTION_TEXT);
		ret_verdicts->list[i].verdict = lab_answer_judge(&quiz.asked[i], answers->lines[i],
								 ret_verdicts->list[i].why);
	}
	quiz_close(&quiz);
	free(id);
	return good;
}

bool quiz_verdicts(const struct lab *lab, const char *folder, struct quiz_verdicts *ret_verdicts)
{
	struct lab_answers answers;
	bool good;

	quiz_answers(folder, &answers);
	good = quiz_held(lab, folder, &answers, ret_verdicts);
	lab_answers_fini(&answers);
	return good;
}

bool quiz_judge(const struct lab *lab, const char *folder, FILE *out)
{
	static const char *const words[] = {
		[LAB_ANSWER_RIGHT] = "right",
		[LAB_ANSWER_WRONG] = "wrong",
		[LAB_ANSWER_REFUSED] = "refused",
		[LAB_ANSWER_MISSING] = "missing",
	};
	struct quiz_verdicts verdicts;
	struct lab_answers answers;
	bool good = true;

	if (!lab->questions || !quiz_answers(folder, &answers))
		return true;
	good = quiz_held(lab, folder, &answers, &verdicts);
	if (good)
		fputs("\n  answers\n", out);
	for (int i = 0; i < verdicts.count; i++) {
		fprintf(out, "  %d  %-8s %s\n", i + 1, words[verdicts.list[i].verdict],
			verdicts.list[i].question);
		if (verdicts.list[i].verdict != LAB_ANSWER_RIGHT)
			fprintf(out, "              %s\n", verdicts.list[i].why);
	}
	lab_answers_fini(&answers);
	return good;
}
