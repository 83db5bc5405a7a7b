/* SPDX-License-Identifier: MIT */
/*
 * Whatever the generator could get wrong is seen: one mistake at a time is put into the source of a
 * unit, and each compiles, but is not taken, crashes, or differs from the interpreter.  What
 * survives fails the test, unless the list says why it must.
 *
 * `nopal fuse` makes the mutants; its compiler is this program, which makes the mistake of
 * $NOPAL_MUTANT and calls the right one, $NOPAL_MUTANT_CC.  For work on one of them: $NOPAL_MUTANTS
 * are words in its name.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/fused.h"
#include "support/mutate.h"
#include "support/pair.h"
#include "support/suite.h"
#include "support/told.h"
#include "support/workshop.h"
#include "support/test.h"

enum {
	SEEDS = 4,
	CPU_SECONDS = 20, /* of a mutant that does not end */
	SURVIVED = 0,
	DIFFERED = 10,
	NOT_TAKEN = 11,
	NOT_MUTATED = 12,
};

extern const struct tool tool_fuse;

struct mutant {
	const char *config;
	struct mutation mutation;
	const char *equivalent; /* why it cannot be seen; NULL: it must be */
};

#include "fused_mutants.h"

/* --------------------------------------------------------------- compiling */

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!file || getdelim(&text, &room, '\0', file) < 0)
		exit(NOT_MUTATED);
	fclose(file);
	return text;
}

/* The last word is the source. */
static int compile_mutant(const struct mutant *mutant, char **words, int count)
{
	char *text = read_all(words[count - 1]);
	char *mutated = mutate(text, &mutant->mutation);
	FILE *file = fopen(words[count - 1], "w");

	if (!mutated || !file || fputs(mutated, file) < 0 || fclose(file))
		return NOT_MUTATED;
	free(text);
	free(mutated);
	words[0] = getenv("NOPAL_MUTANT_CC");
	execvp(words[0], words);
	return NOT_MUTATED;
}

static bool made(size_t which, const char *output)
{
	static struct told told;
	char number[32], self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	snprintf(number, sizeof(number), "%zu", which);
	setenv("NOPAL_MUTANT", number, true);
	tell(&told, &tool_fuse, (const char *[]){ mutants[which].config, NULL },
	     (const char *[]){ "output", output, "cc", self, "flag", "-O0", NULL });
	unsetenv("NOPAL_MUTANT");
	return told.code == TOOL_GOOD;
}

/* --------------------------------------------------------------- comparing */

static bool differs(struct nopal_plan *interpreted, struct nopal_plan *fused, struct pair_run run)
{
	struct pair_seen right, mutant;

	run.plan = interpreted;
	pair_run(&run, &right);
	run.plan = fused;
	pair_run(&run, &mutant);
	return pair_difference(&right, &mutant) != NULL;
}

static bool differs_somewhere(struct nopal_plan *interpreted, struct nopal_plan *fused,
			      uint64_t seed)
{
	for (size_t n = 0; n < suite_network_count; n++)
		if (suite_fits(&suite_networks[n], fused) &&
		    differs(interpreted, fused, pair_run_over(&suite_networks[n], seed)))
			return true;
	return false;
}

/* In a process of its own, since it may do anything. */
static int judge(const char *config)
{
	struct nopal_plan *fused, *interpreted;

	setenv("NOPAL_FUSED", workshop_path(""), true);
	fused = suite_plan(config);
	interpreted = suite_plan(config);
	nopal__fused_load(fused);
	if (strncmp(nopal_plan_runs(fused), "fused: ", 7) != 0)
		return NOT_TAKEN;
	nopal_plan_interpret(interpreted);
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		if (differs_somewhere(interpreted, fused, seed))
			return DIFFERED;
	return differs(interpreted, fused, pair_long_run()) ? DIFFERED : SURVIVED;
}

static int judged(const char *config)
{
	const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		/* what it says of its own death is of no use */
		if (!freopen("/dev/null", "w", stderr))
			_exit(NOT_MUTATED);
		signal(SIGABRT, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CPU, &limit);
		setrlimit(RLIMIT_CORE, &no_core);
		_exit(judge(config));
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

/* ------------------------------------------------------------------- tests */

static const char *outcome_of(size_t which)
{
	char file[64];
	int status;

	snprintf(file, sizeof(file), "%s.fused.so", mutants[which].config);
	if (!made(which, workshop_path(file)))
		fail_msg("%s: %s: does not compile", mutants[which].config,
			 mutants[which].mutation.what);
	status = judged(mutants[which].config);
	if (!WIFEXITED(status))
		return "crashes";
	switch (WEXITSTATUS(status)) {
	case SURVIVED:
		return NULL;
	case DIFFERED:
		return "differs";
	case NOT_TAKEN:
		return "is not taken";
	default:
		return "ends";
	}
}

/* A mistake that is not made is no mutant. */
static void is_made(size_t which)
{
	const struct mutant *mutant = &mutants[which];
	struct nopal_plan *plan = suite_plan(mutant->config);
	char *text = NULL, *mutated;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_int_equal(nopal_plan_fuse(plan, NULL, out, NULL), 0);
	fclose(out);
	mutated = mutate(text, &mutant->mutation);
	if (!mutated)
		fail_msg("%s: %s: its place is not found", mutant->config, mutant->mutation.what);
	free(mutated);
	free(text);
	nopal_plan_unref(plan);
}

/* The same way without a mistake is taken, and is right. */
TEST(test_the_right_unit_is_right)
{
	static struct told told;
	static const char *const configs[] = { "bulk", "ctp_audio" };

	workshop_open();
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		char file[64];
		int status;

		snprintf(file, sizeof(file), "%s.fused.so", configs[i]);
		tell(&told, &tool_fuse, (const char *[]){ configs[i], NULL },
		     (const char *[]){ "output", workshop_path(file), "flag", "-O0", NULL });
		assert_int_equal(told.code, TOOL_GOOD);
		status = judged(configs[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), SURVIVED);
	}
	workshop_close();
}

TEST(test_every_mutant_is_seen)
{
	const char *wanted = getenv("NOPAL_MUTANTS");
	unsigned seen = 0, equivalent = 0, survived = 0;

	workshop_open();
	for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
		const struct mutant *mutant = &mutants[i];
		const char *outcome;

		if (wanted && !strstr(mutant->mutation.what, wanted))
			continue;
		is_made(i);
		outcome = outcome_of(i);
		seen += outcome != NULL;
		equivalent += !outcome && mutant->equivalent;
		survived += !outcome && !mutant->equivalent;
		printf("%s: %s: %s\n", mutant->config, mutant->mutation.what,
		       outcome		    ? outcome
		       : mutant->equivalent ? mutant->equivalent
					    : "SURVIVED");
	}
	workshop_close();
	printf("%zu mutants, %u seen, %u equivalent, %u survived\n",
	       sizeof(mutants) / sizeof(*mutants), seen, equivalent, survived);
	assert_int_equal(survived, 0);
}

int main(int count, char **words)
{
	const char *mutant = getenv("NOPAL_MUTANT");

	if (mutant)
		return compile_mutant(&mutants[strtoul(mutant, NULL, 10)], words, count);
	/* what this process has loaded, its children would find loaded */
	setenv("NOPAL_FUSED", "off", true);
	setenv("NOPAL_MUTANT_CC", getenv("CC") ? getenv("CC") : "cc", true);
	return tests_run();
}
