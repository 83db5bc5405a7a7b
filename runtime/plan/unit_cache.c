/* SPDX-License-Identifier: MIT */
/*
 * unit_cache.c -- the folder in which a user's own fused units lie.
 *
 *   $XDG_CACHE_HOME/nopal/fused, or ~/.cache/nopal/fused
 *   NAME-KEY.fused.so	 KEY: a hash of the library's stamp and the plan's shape
 *
 * Code is loaded from there, so the folder and the one around it must be the user's own, and no one
 * else may write there: this is looked at each time. Whatever lies there may be deleted at any
 * time.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/problems.h"
#include "base/text.h"
#include "plan/fused.h"

enum {
	CACHE_MODE = S_IRWXU,
	CACHE_AROUND_MODE = S_IRWXU | S_IRWXG | S_IRWXO, /* less the umask */
};

static const char cache_fix[] =
	"make it yours, with chmod 700, or name another file with -o FILE, and "
	"its folder in $NOPAL_FUSED";

/* NULL: the environment names none. */
static const char *cache_folder(struct nopal_arena *arena)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	if (cache && *cache == '/')
		return nopal__printed(arena, "%s/nopal", cache);
	if (home && *home == '/')
		return nopal__printed(arena, "%s/.cache/nopal", home);
	return NULL;
}

/* 0, or a negative errno value: -EPERM where it is another's, or others write. */
static int cache_is_ours(const char *folder)
{
	struct stat about;

	if (lstat(folder, &about))
		return -errno;
	if (!S_ISDIR(about.st_mode))
		return -ENOTDIR;
	return about.st_uid == geteuid() && !(about.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

static int cache_open(const char *folder, const char *units)
{
	int error = cache_is_ours(folder);

	return error ? error : cache_is_ours(units);
}

static const char *cache_file(const struct nopal_plan *plan, struct nopal_arena *arena,
			      const char *units)
{
	uint64_t shape = nopal__plan_shape(plan, arena);
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, nopal__stamp, strlen(nopal__stamp));
	nopal_hash_update(&hash, &shape, sizeof(shape));
	return nopal__printed(arena, "%s/%s-%016llx" NOPAL_FUSED_SUFFIX, units, plan->info.name,
			      (unsigned long long)nopal_hash_final(&hash));
}

const char *nopal__unit_in_cache(const struct nopal_plan *plan)
{
	struct nopal_arena *arena = plan->arena;
	const char *folder = cache_folder(arena), *units, *file;

	if (!folder)
		return NULL;
	units = nopal__printed(arena, "%s/fused", folder);
	if (cache_open(folder, units) != 0)
		return NULL;
	file = cache_file(plan, arena, units);
	return nopal__is_readable(file) ? file : NULL;
}

char *nopal_plan_unit_file(const struct nopal_plan *plan, struct nopal_problems *problems)
{
	struct nopal_arena arena = { .problems = problems };
	const char *folder = cache_folder(&arena), *made[3];
	char *file = NULL;
	int error = 0;

	if (!folder) {
		nopal_problems_add(problems, NULL, 0,
				   "set one of them, or name the unit with -o FILE",
				   "neither $HOME nor $XDG_CACHE_HOME names a "
				   "folder for fused units");
		nopal__arena_release(&arena);
		return NULL;
	}
	/* `folder` is .../nopal; the one around it is made where it is missing. */
	made[0] = nopal__copy_part(&arena, folder, strlen(folder) - strlen("/nopal"));
	made[1] = folder;
	made[2] = nopal__printed(&arena, "%s/fused", folder);
	for (unsigned i = 0; i < 3 && !error; i++)
		if (mkdir(made[i], i ? CACHE_MODE : CACHE_AROUND_MODE) && errno != EEXIST)
			error = -errno;
	if (!error)
		error = cache_open(folder, made[2]);
	if (error)
		nopal_problems_add(problems, made[2], 0, cache_fix,
				   "this folder cannot have fused units: %s",
				   error == -EPERM ? "it, or the one around it, belongs to "
						     "another user, or others may write there"
						   : strerror(-error));
	else if (!arena.failed)
		file = strdup(cache_file(plan, &arena, made[2]));
	if (!error && !file)
		nopal__problems_no_memory(problems);
	nopal__arena_release(&arena);
	return file;
}
