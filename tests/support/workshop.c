/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/workshop.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/told.h"
#include "support/test.h"

extern const struct tool tool_fuse;

enum { PATHS = 8 }; /* that are good at the same time */

static char folder[PATH_MAX];

void workshop_open(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/nopal-fused-XXXXXX", temporary ? temporary : "/tmp");
	assert_non_null(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, true);
}

static int workshop_remove(const char *path, const struct stat *about, int type, struct FTW *where)
{
	(void)about, (void)type, (void)where;
	return remove(path);
}

void workshop_close(void)
{
	enum { WORKSHOP_FILES = 16 }; /* open at once */

	nftw(folder, workshop_remove, WORKSHOP_FILES, FTW_DEPTH | FTW_PHYS);
}

const char *workshop_path(const char *name)
{
	static char paths[PATHS][2 * PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % PATHS];

	snprintf(path, sizeof(paths[0]), "%s%s%s", folder, *name ? "/" : "", name);
	return path;
}

void workshop_write(const char *name, const char *text)
{
	FILE *file = fopen(workshop_path(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

const struct told *workshop_fuse(const char *name, const char *const *options)
{
	static struct told told;

	tell(&told, &tool_fuse, (const char *[]){ workshop_path(name), NULL }, options);
	if (told.code != TOOL_GOOD)
		fail_msg("nopal fuse %s: %s", name, told.err);
	return &told;
}

struct nopal_plan *workshop_plan(const char *name, const char *const *sets)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(workshop_path(name), sets, &problems);
	nopal_problems_fini(&problems);
	return plan;
}

void workshop_is_fused(const struct nopal_plan *plan)
{
	if (strncmp(nopal_plan_runs(plan), "fused: ", strlen("fused: ")) != 0)
		fail_msg("%s runs %s", nopal_plan_info(plan)->name, nopal_plan_runs(plan));
}
