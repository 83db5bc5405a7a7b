/* SPDX-License-Identifier: MIT */
/* bench.c -- a submission made ready for trials. */
#include "lab/bench.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/build.h"

enum {
	BENCH_PROCESSOR_S = 10,
	BENCH_MEMORY_BYTES = 512 << 20,
	BENCH_TURNS = 1000000,
	BENCH_DATAGRAMS = 200000
};

char *lab_read_file(const char *path, size_t longest)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t length;

	if (!file)
		return NULL;
	text = tool_need(malloc(longest + 2));
	length = fread(text, 1, longest + 1, file);
	fclose(file);
	text[length] = '\0';
	if (length <= longest)
		return tool_need(realloc(text, length + 1));
	free(text);
	return NULL;
}

/* ---------------------------------------------------------------------- places */

/* The first of `count` paths that is there, or the last one; the others are freed. */
static char *bench_first(char **paths, int count)
{
	char *found = NULL;

	for (int i = 0; i < count; i++) {
		if (!found && (i == count - 1 || access(paths[i], R_OK) == 0))
			found = paths[i];
		else
			free(paths[i]);
	}
	return found;
}

char *lab_handout(const struct lab *lab)
{
	const char *named = getenv("NOPAL_LABS");
	char *paths[] = {
		tool_printed("%s/%02d-%s", named ? named : "", lab->number, lab->name),
		tool_printed("%s/../labs/%02d-%s", nopal_installed(NOPAL_INSTALLED_CONFIGS),
			     lab->number, lab->name),
		tool_printed("%s/docs/labs/%02d-%s", NOPAL_BUILT_FROM, lab->number, lab->name),
	};

	return bench_first(paths, 3);
}

/* The folder of the program that runs. */
static char *bench_program(void)
{
	char path[PATH_MAX] = "";
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash = length > 0 ? strrchr(path, '/') : NULL;

	if (slash)
		*slash = '\0';
	return tool_need(strdup(path));
}

char *lab_object(const struct lab *lab, const char *mutant)
{
	char *program = bench_program(), *paths[2];
	const char *dot = mutant ? "." : "";

	if (!mutant)
		mutant = "";
	paths[0] = tool_printed("%s/labs/%s%s%s.so", program, lab->part, dot, mutant);
	paths[1] = tool_printed("%s/../labs/%s%s%s.so", nopal_installed(NOPAL_INSTALLED_PLUGINS),
				lab->part, dot, mutant);
	free(program);
	return bench_first(paths, 2);
}

/* ------------------------------------------------------------------- a submission */

/* Without a file of the teacher's own, hidden trials are hidden by nothing but their not being in
 * the hand-out. */
static bool bench_secret(const char *path, uint64_t ret_secret[2])
{
	char *text = path ? lab_read_file(path, LAB_FILE_MAX) : tool_need(strdup("nopal lab"));
	struct nopal_hash hash;

	if (!text) {
		fprintf(stderr,
			"nopal: cannot read the secret %s: %s\n  fix: --secret names a file of at "
			"most 1 MiB\n",
			path, strerror(errno));
		return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		nopal_hash_init(&hash);
		nopal_hash_update(&hash, &i, sizeof(i));
		nopal_hash_update(&hash, text, strlen(text));
		ret_secret[i] = nopal_hash_final(&hash);
	}
	free(text);
	return true;
}

void bench_use(struct bench *bench, enum bench_build build)
{
	bench->lab.object[LAB_STUDENT] = bench->objects[build];
	bench->lab.spawner[LAB_STUDENT] = &bench->spawners[build];
	bench->lab.sanitized[LAB_STUDENT] = build == BENCH_SANITIZED;
}

static bool bench_compile(struct bench *bench, enum bench_build which)
{
	static const struct {
		enum build_kind kind;
		const char *folder;
	} builds[] = {
		[BENCH_SANITIZED] = { BUILD_CHECKED, "checked" },
		[BENCH_FAST] = { BUILD_QUICK, "quick" },
	};
	char *into = tool_printed("%s/%s", bench->work, builds[which].folder);
	const struct build build = { .kind = builds[which].kind,
				     .folder = bench->folder,
				     .part = bench->lab.lab->part,
				     .into = into };
	char *said = tool_need(calloc(1, BUILD_SAID_BYTES));
	enum tool_exit result = TOOL_ENVIRONMENT;

	if (mkdir(into, 0755) == 0)
		result = build_part(&build, said);
	bench->objects[which] = tool_printed("%s/%s.so", into, build.part);
	free(into);
	if (result == TOOL_FAILED)
		bench->errors = said;
	else if (result != TOOL_GOOD)
		fprintf(stderr, "nopal: %s", said);
	if (result != TOOL_FAILED)
		free(said);
	return result == TOOL_GOOD;
}

bool bench_open(struct bench *bench, const struct lab *lab, const char *folder, const char *secret)
{
	const char *temporary = getenv("TMPDIR");
	char preload[BUILD_PRELOAD_BYTES], said[BUILD_SAID_BYTES];
	int result;

	*bench = (struct bench){ .folder = folder };
	bench->lab.lab = lab;
	bench->lab.handout = lab_handout(lab);
	bench->lab.limits = (struct lab_limits){ .processor_ns = BENCH_PROCESSOR_S * NOPAL_SECOND,
						 .memory_bytes = BENCH_MEMORY_BYTES,
						 .turns = BENCH_TURNS,
						 .datagrams = BENCH_DATAGRAMS };
	if (!bench_secret(secret, bench->lab.secret))
		return false;
	bench->work = tool_printed("%s/nopal-lab-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(bench->work)) {
		fprintf(stderr, "nopal: cannot make %s: %s\n  fix: $TMPDIR names a folder\n",
			bench->work, strerror(errno));
		return false;
	}
	if (lab->part)
		bench->lab.object[LAB_REFERENCE] = lab_object(lab, NULL);
	else
		bench->lab.configs = tool_need(strdup(folder));
	for (enum bench_build build = 0; lab->part && build < BENCH_BUILDS; build++)
		if (!bench_compile(bench, build))
			return false;
	if (lab->part && !build_preload(preload, said)) {
		fprintf(stderr, "nopal: %s", said);
		return false;
	}
	result = spawner_start(&bench->spawners[BENCH_SANITIZED], "/proc/self/exe",
			       lab->part ? preload : NULL);
	if (result == 0)
		result = spawner_start(&bench->spawners[BENCH_FAST], "/proc/self/exe", NULL);
	if (result < 0)
		fprintf(stderr, "nopal: cannot start hosts: %s\n", strerror(-result));
	bench->lab.spawner[LAB_REFERENCE] = &bench->spawners[BENCH_FAST];
	bench_use(bench, BENCH_SANITIZED);
	return result == 0;
}

void bench_close(struct bench *bench)
{
	for (enum bench_build build = 0; build < BENCH_BUILDS; build++) {
		spawner_stop(&bench->spawners[build]);
		if (bench->objects[build]) {
			unlink(bench->objects[build]);
			rmdir(dirname(bench->objects[build]));
		}
		free(bench->objects[build]);
	}
	if (bench->work)
		rmdir(bench->work);
	free(bench->work);
	free(bench->errors);
	free(bench->lab.object[LAB_REFERENCE]);
	free(bench->lab.handout);
	free(bench->lab.configs);
}
