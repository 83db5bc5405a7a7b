/* SPDX-License-Identifier: MIT */
/*
 * fuse.c -- nopal fuse: compile a config into its fused unit.
 *
 * The library writes the unit's source; this runs the C compiler on it, with the sources of the
 * runtime and the microprotocols in sight.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "frame/compiler.h"

#ifndef NOPAL_FUSE_FLAGS
#define NOPAL_FUSE_FLAGS /* "-one", "-two", */
#endif

enum { FUSE_MAX_WORDS = TOOL_MAX_REPEATS + 48 };

static const struct tool_option fuse_options[] = {
	{ "output", 'o', "FILE",
	  "the unit (default: where your programs look for it by themselves)" },
	{ "source", 0, "FILE.c", "source of a microprotocol that is a plugin; may be repeated" },
	{ "c", 'c', NULL, "write the C source to standard output, and stop" },
	{ "cc", 0, "COMPILER", "C compiler (default: $CC, or cc)" },
	{ "flag", 0, "FLAG", "one more for the compiler; may be repeated" },
	TOOL_SET_OPTION,
	{ 0 },
};

/* The whole unit is one file that nobody else calls into, so the compiler may treat every function
 * as its own. */
static const char *const fuse_flags[] = {
	"-std=gnu11",
	"-D_GNU_SOURCE",
	"-O3",
	"-fPIC",
	"-shared",
	"-fvisibility=hidden",
	"-fwhole-program",
	"-fno-plt",
	"-w",
	/* a unit is one config's packet path: all of it is worth inlining */
	"--param=early-inlining-insns=200",
	"--param=inline-min-speedup=3",
	"--param=inline-unit-growth=200",
	"--param=large-function-growth=400",
	"--param=max-inline-insns-auto=160",
	/* as the library itself was hardened */
	NOPAL_FUSE_FLAGS NULL,
};

static enum tool_exit fuse_cannot_write(const char *path)
{
	fprintf(stderr,
		"nopal: cannot write %s: %s\n  fix: name a folder that has room and takes files "
		"with -o FILE\n",
		path, strerror(errno));
	return TOOL_ENVIRONMENT;
}

static enum tool_exit fuse_write(const struct tool_call *call, const struct nopal_plan *plan,
				 FILE *out, const char *path)
{
	struct nopal_problems problems = { 0 };
	int failed;

	failed = nopal_plan_fuse(plan, tool_values(call, "source"), out, &problems);
	if (tool_problems(&problems))
		return TOOL_BAD_INPUT;
	return failed || fflush(out) ? fuse_cannot_write(path) : TOOL_GOOD;
}

/* Compiles the unit's source. */
static enum tool_exit fuse_compile(const struct tool_call *call, const char *source,
				   const char *output)
{
	const char *words[FUSE_MAX_WORDS], *root = compiler_sources();
	char *runtime = tool_printed("-I%s/runtime", root);
	char *microprotocols = tool_printed("-I%s/microprotocols", root);
	int count = 0, status;

	words[count++] = compiler_name(tool_value(call, "cc"));
	for (const char *const *flag = fuse_flags; *flag; flag++)
		words[count++] = *flag;
	words[count++] = runtime;
	words[count++] = microprotocols;
	for (const char *const *flag = tool_values(call, "flag"); *flag; flag++)
		words[count++] = *flag;
	words[count++] = "-o";
	words[count++] = output;
	words[count++] = source;
	words[count] = NULL;
	status = compiler_run(words, NULL, NULL);
	free(runtime);
	free(microprotocols);
	if (status < 0) {
		fprintf(stderr, "nopal: cannot run the compiler: %s\n", strerror(-status));
		return TOOL_ENVIRONMENT;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == TOOL_ENVIRONMENT)
		return TOOL_ENVIRONMENT;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return TOOL_GOOD;
	fprintf(stderr,
		"nopal: the unit does not compile; its source is %s\n  fix: read what the "
		"compiler says; $NOPAL_SOURCES must name the sources of this very version, "
		"file-scope names of a plugin begin with its own name, and what calls "
		"nopal_unbind cannot be fused\n",
		source);
	return TOOL_FAILED;
}

/* A half-written unit must never be found: it is made aside and renamed. */
static enum tool_exit fuse_run(const struct tool_call *call)
{
	struct nopal_plan *plan = tool_plan(call, call->words[0]);
	const char *named = tool_value(call, "output");
	struct nopal_problems problems = { 0 };
	enum tool_exit result = TOOL_ENVIRONMENT;
	char *output, *source, *aside;
	FILE *file;

	if (!plan)
		return TOOL_BAD_INPUT;
	if (tool_value(call, "c")) {
		result = fuse_write(call, plan, stdout, "standard output");
		nopal_plan_unref(plan);
		return result;
	}
	output = named ? tool_need(strdup(named)) : nopal_plan_unit_file(plan, &problems);
	tool_problems(&problems);
	if (!output) {
		nopal_plan_unref(plan);
		return TOOL_ENVIRONMENT;
	}
	source = tool_printed("%s.c", output);
	aside = tool_printed("%s.new", output);
	file = fopen(source, "w");
	if (file)
		result = fuse_write(call, plan, file, source);
	if (!file || (fclose(file) && result == TOOL_GOOD))
		result = fuse_cannot_write(source);
	if (result == TOOL_GOOD)
		result = fuse_compile(call, source, aside);
	if (result == TOOL_GOOD && rename(aside, output) < 0)
		result = fuse_cannot_write(output);
	if (result == TOOL_GOOD)
		printf("%s\n", output);
	if (result != TOOL_FAILED)
		unlink(source);
	unlink(aside);
	free(source);
	free(aside);
	free(output);
	nopal_plan_unref(plan);
	return result;
}

const struct tool tool_fuse = {
	.name = "fuse",
	.words = "CONF",
	.summary = "compile a config: the same transport, quicker",
	.help = "Compiles the handlers of a config and the packet path of the runtime into "
		"one\nshared object, and puts it into $XDG_CACHE_HOME/nopal/fused "
		"(~/.cache/nopal/fused),\nwhere every program of yours takes it by itself. With "
		"-o it lies elsewhere: as\nNAME.fused.so in a folder of $NOPAL_FUSED it is taken, "
		"too, and beside a config\nit never is. `nopal explain` says what runs. It "
		"behaves exactly as the config does.\n\n"
		"  nopal fuse my.conf\n"
		"  nopal fuse mine.conf --source my_policy.c\n"
		"  nopal fuse bulk -o /tmp/mine/bulk.fused.so && NOPAL_FUSED=/tmp/mine nopal "
		"explain bulk",
	.min_words = 1,
	.max_words = 1,
	.options = fuse_options,
	.run = fuse_run,
};
