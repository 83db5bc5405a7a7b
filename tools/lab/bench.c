/* SPDX-License-Identifier: MIT */
/* bench.c -- a submission made ready for trials. */
#include "lab/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/compiler.h"
#include "frame/tool.h"
#include "lab/build.h"

enum {
	BENCH_PROCESSOR_S = 4,
	BENCH_MEMORY_BYTES = 512 << 20,
	BENCH_TURNS = 1000000,
	BENCH_DATAGRAMS = 200000,
	BENCH_MODE = 0755,
	BENCH_DEPTH = 8, /* of our folders */
};

/* A regular file, and no link to one: a submission's may lead anywhere. */
static int bench_file(const char *path, struct stat *ret_status)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (file >= 0 && fstat(file, ret_status) == 0 && S_ISREG(ret_status->st_mode))
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

char *lab_read_file(const char *path, size_t longest)
{
	struct stat status;
	int file = bench_file(path, &status);
	FILE *in = file >= 0 ? fdopen(file, "r") : NULL;
	char *text = NULL;
	size_t length;

	if (!in)
		return NULL;
	if ((size_t)status.st_size <= longest) {
		text = tool_need(calloc(1, longest + 1));
		length = fread(text, 1, longest, in);
		text = tool_need(realloc(text, length + 1));
	}
	fclose(in);
	return text;
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
		tool_printed("%s/docs/labs/%02d-%s", compiler_sources(), lab->number, lab->name),
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

/* ------------------------------------------------------------ folders for hosts */

static bool bench_cannot(const char *path)
{
	fprintf(stderr, "nopal: cannot make %s: %s\n  fix: $TMPDIR names a folder with room\n",
		path, strerror(errno));
	return false;
}

/* A copy that others may read, and run. */
static bool bench_copy(const char *from, const char *to)
{
	struct stat status;
	int source = bench_file(from, &status), target = -1;
	bool good;

	if (source >= 0)
		target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, BENCH_MODE);
	good = target >= 0 &&
	       sendfile(target, source, NULL, (size_t)status.st_size) == (ssize_t)status.st_size &&
	       fchmod(target, BENCH_MODE) == 0;
	if (!good)
		bench_cannot(to);
	if (source >= 0)
		close(source);
	if (target >= 0)
		close(target);
	return good;
}

/* All NAME.conf of a folder. */
static bool bench_copy_configs(const char *from, const char *to)
{
	char *pattern = tool_printed("%s/*.conf", from);
	glob_t found = { 0 };
	bool good = true;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && good; i++) {
			char *target =
				tool_printed("%s/%s", to, strrchr(found.gl_pathv[i], '/') + 1);

			good = bench_copy(found.gl_pathv[i], target);
			free(target);
		}
	globfree(&found);
	free(pattern);
	return good;
}

/* A folder with configs, and with the object as PART.so where there is one.  NULL: a problem was
 * printed. */
static char *bench_folder(const struct bench *bench, const char *name, const char *configs,
			  const char *object)
{
	char *folder = tool_printed("%s/%s", bench->work, name), *target = NULL;
	bool good = mkdir(folder, BENCH_MODE) == 0 || bench_cannot(folder);

	good = good && bench_copy_configs(configs, folder);
	if (good && object) {
		target = tool_printed("%s/%s.so", folder, bench->lab.lab->part);
		good = bench_copy(object, target);
	}
	free(target);
	if (good)
		return folder;
	free(folder);
	return NULL;
}

/* Configs that others extend: where this program finds them, or its sources'. */
static bool bench_stock(struct bench *bench)
{
	const char *installed = nopal_installed(NOPAL_INSTALLED_CONFIGS);
	char *sources = tool_printed("%s/configs", compiler_sources());

	bench->configs = bench_folder(bench, "configs",
				      access(sources, R_OK) == 0 ? sources : installed, NULL);
	free(sources);
	/* for hosts that live in this process, as for others */
	return bench->configs && setenv("NOPAL_CONFIGS", bench->configs, 1) == 0;
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
	bench->lab.folder[LAB_STUDENT] = bench->builds[build];
	bench->lab.spawner[LAB_STUDENT] = &bench->spawners[build];
	bench->lab.sanitized[LAB_STUDENT] = build == BENCH_SANITIZED;
}

bool bench_use_mutant(struct bench *bench, const char *mutant)
{
	char *object = lab_object(bench->lab.lab, mutant);

	free(bench->mutant);
	bench->mutant = NULL;
	bench_use(bench, BENCH_FAST);
	bench->lab.folder[LAB_STUDENT] = bench->reference;
	if (mutant)
		bench->lab.folder[LAB_STUDENT] = bench->mutant =
			bench_folder(bench, mutant, bench->lab.handout, object);
	free(object);
	return bench->lab.folder[LAB_STUDENT] != NULL;
}

static bool bench_compile(struct bench *bench, enum bench_build which)
{
	static const enum build_kind kinds[] = {
		[BENCH_SANITIZED] = BUILD_CHECKED, [BENCH_FAST] = BUILD_QUICK
	};
	const struct build build = { .kind = kinds[which],
				     .folder = bench->folder,
				     .part = bench->lab.lab->part,
				     .into = bench->builds[which] };
	char *said = tool_need(calloc(1, BUILD_SAID_BYTES));
	enum tool_exit result = build_part(&build, said);

	if (result == TOOL_FAILED)
		bench->errors = said;
	else if (result != TOOL_GOOD)
		fprintf(stderr, "nopal: %s", said);
	if (result != TOOL_FAILED)
		free(said);
	return result == TOOL_GOOD;
}

/* In the place of the config that was handed out, the one that the student has repaired. */
static bool bench_own(const struct bench *bench, enum bench_build which)
{
	char *from = tool_printed("%s/%s", bench->folder, bench->lab.lab->own);
	char *to = tool_printed("%s/%s", bench->builds[which], bench->lab.lab->own);
	bool good = access(from, R_OK) != 0 || (unlink(to) == 0 && bench_copy(from, to));

	free(from);
	free(to);
	return good;
}

/* All folders, and what is compiled into them. */
static bool bench_make(struct bench *bench)
{
	static const char *const names[] = {
		[BENCH_SANITIZED] = "checked", [BENCH_FAST] = "quick"
	};
	const struct lab *lab = bench->lab.lab;
	char *object = lab->part ? lab_object(lab, NULL) : NULL;
	bool good = bench_stock(bench);

	if (good)
		bench->reference = bench_folder(bench, "reference", bench->lab.handout, object);
	free(object);
	for (enum bench_build build = 0; bench->folder && bench->reference && build < BENCH_BUILDS;
	     build++) {
		bench->builds[build] = bench_folder(
			bench, names[build], lab->part ? bench->lab.handout : bench->folder, NULL);
		if (!bench->builds[build] || (lab->part && !bench_compile(bench, build)) ||
		    (lab->own && !bench_own(bench, build)))
			return false;
	}
	return bench->reference != NULL;
}

static bool bench_start(struct bench *bench)
{
	char preload[BUILD_PRELOAD_BYTES], said[BUILD_SAID_BYTES];
	bool sanitized = bench->folder && bench->lab.lab->part;
	int result;

	if (sanitized && !build_preload(preload, said)) {
		fprintf(stderr, "nopal: %s", said);
		return false;
	}
	result = spawner_start(&bench->spawners[BENCH_SANITIZED], "/proc/self/exe", bench->configs,
			       sanitized ? preload : NULL);
	if (result == 0)
		result = spawner_start(&bench->spawners[BENCH_FAST], "/proc/self/exe",
				       bench->configs, NULL);
	if (result < 0)
		fprintf(stderr, "nopal: cannot start hosts: %s\n", strerror(-result));
	return result == 0;
}

/* A process has one part of a name, and each bench a copy of the reference: that of the first bench
 * lives in this process, that of a later one in children. */
static void bench_place(struct bench *bench)
{
	static bool loaded;

	if (loaded && bench->lab.lab->part)
		bench->lab.spawner[LAB_REFERENCE] = &bench->spawners[BENCH_FAST];
	loaded |= bench->lab.lab->part != NULL;
}

bool bench_open(struct bench *bench, const struct lab *lab, const char *folder, const char *secret)
{
	const char *temporary = getenv("TMPDIR");

	*bench = (struct bench){ .folder = folder };
	bench->lab.lab = lab;
	bench->lab.pool = &bench->pool;
	bench->lab.handout = lab_handout(lab);
	bench->lab.limits = (struct lab_limits){ .process = { BENCH_PROCESSOR_S * NOPAL_SECOND,
							      BENCH_MEMORY_BYTES },
						 .turns = BENCH_TURNS,
						 .datagrams = BENCH_DATAGRAMS };
	if (!bench_secret(secret, bench->lab.secret))
		return false;
	bench->work = tool_printed("%s/nopal-lab-XXXXXX", temporary ? temporary : "/tmp");
	/* Hosts of root's are nobody's: they have to reach what is in it. */
	if (!mkdtemp(bench->work) || chmod(bench->work, BENCH_MODE) < 0)
		return bench_cannot(bench->work);
	if (!bench_make(bench) || !bench_start(bench))
		return false;
	bench->lab.folder[LAB_REFERENCE] = bench->reference;
	bench_place(bench);
	bench_use(bench, BENCH_SANITIZED);
	return true;
}

static int bench_remove(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status, (void)kind, (void)where;
	return remove(path);
}

void bench_close(struct bench *bench)
{
	process_pool_fini(&bench->pool);
	for (enum bench_build build = 0; build < BENCH_BUILDS; build++) {
		spawner_stop(&bench->spawners[build]);
		free(bench->builds[build]);
	}
	if (bench->work)
		nftw(bench->work, bench_remove, BENCH_DEPTH, FTW_DEPTH | FTW_PHYS);
	free(bench->work);
	free(bench->reference);
	free(bench->mutant);
	free(bench->configs);
	free(bench->errors);
	free(bench->lab.handout);
}
