/* SPDX-License-Identifier: MIT */
/*
 * fused.c -- finds the fused unit of a plan, where there is one, and loads it.
 *
 *   NAME.fused.so	  in the folders of $NOPAL_FUSED (divided by ':'; the word
 *			  `off` finds none)
 *   NAME-KEY.fused.so	  among the user's own (unit_cache.c)
 *   NAME.fused.so	  in the installed folder
 *
 * NAME being the config's.  Never beside a config, and never in the working
 * directory: files come there from others.  A file that is found is taken where
 * its mark says that it was made by this very library and from the same plan;
 * the mark is read, nothing runs for it.  Its code is loaded when the first
 * session of the plan is made, or a listener allows it, and never unloaded, as
 * plugins are not.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fused.h"
#include "base/text.h"
#include "registry/registry.h"

static pthread_mutex_t fused_lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------- finding */

static const char *fused_search(const struct nopal_plan *plan, const char *folders)
{
	return nopal__search(plan->arena, folders, plan->info.name, NOPAL_FUSED_SUFFIX,
			     nopal__is_readable);
}

static const char *fused_file(const struct nopal_plan *plan, const char *named)
{
	const char *file = named && *named ? fused_search(plan, named) : NULL;

	if (!file)
		file = nopal__unit_in_cache(plan);
	return file ? file
		    : fused_search(plan, nopal__printed(plan->arena, "%s/fused",
							nopal_installed(NOPAL_INSTALLED_PLUGINS)));
}

void nopal__fused_find(struct nopal_plan *plan)
{
	const char *named = secure_getenv("NOPAL_FUSED"), *path, *why = NULL;
	char mark[NOPAL_UNIT_MARK_ROOM], ours[NOPAL_UNIT_MARK_ROOM];

	atomic_store(&plan->fused_settled, true);
	if (named && strcmp(named, "off") == 0) {
		plan->fused_text = "interpreted: NOPAL_FUSED=off";
		return;
	}
	path = fused_file(plan, named);
	if (!path) {
		plan->fused_text = nopal__printed(plan->arena,
						  "interpreted: there is no %s" NOPAL_FUSED_SUFFIX
						  "; `nopal fuse` makes it",
						  plan->info.name);
		return;
	}
	if (!nopal__may_be_loaded(path)) {
		why = "is not executable: what is received never is, and what is compiled here is";
	} else if (!nopal__unit_mark(path, mark)) {
		why = "is no fused unit, or is cut off";
	} else {
		plan->fused_shape = nopal__plan_shape(plan, plan->arena);
		snprintf(ours, sizeof(ours), NOPAL_UNIT_MARK, nopal__stamp,
			 (unsigned long long)plan->fused_shape);
		if (strncmp(mark, ours, strlen(nopal__stamp) + 1) != 0)
			why = "was made for another version";
		else if (strcmp(mark, ours) != 0)
			why = "was made from another composition";
	}
	if (why) {
		plan->fused_text = nopal__printed(plan->arena, "interpreted: %s %s", path, why);
		return;
	}
	plan->fused_file = path;
	plan->fused_text = nopal__printed(plan->arena, "fused: %s", path);
	/* said now, for there is no arena when it is loaded */
	plan->fused_unloadable = nopal__printed(plan->arena, "interpreted: %s does not load", path);
	atomic_store(&plan->fused_settled, false);
}

/* ------------------------------------------------------------------- loading */

void nopal__fused_load(struct nopal_plan *plan)
{
	if (atomic_load_explicit(&plan->fused_settled, memory_order_acquire))
		return;
	pthread_mutex_lock(&fused_lock);
	if (!atomic_load(&plan->fused_settled)) {
		void *object = dlopen(plan->fused_file, RTLD_NOW | RTLD_LOCAL);
		const struct nopal_fused *unit =
			object ? dlsym(object, NOPAL_SYMBOL_OF(NOPAL_FUSED_SYMBOL)) : NULL;

		/* NULL where it does not load, or is another one by now. */
		plan->fused = unit && strcmp(unit->stamp, nopal__stamp) == 0 &&
					      unit->shape == plan->fused_shape
				      ? unit
				      : NULL;
		if (!plan->fused)
			plan->fused_failed = plan->fused_unloadable;
		atomic_store_explicit(&plan->fused_settled, true, memory_order_release);
	}
	pthread_mutex_unlock(&fused_lock);
}

const char *nopal_plan_runs(const struct nopal_plan *plan)
{
	return atomic_load_explicit(&plan->fused_settled, memory_order_acquire) &&
			       plan->fused_failed
		       ? plan->fused_failed
		       : plan->fused_text;
}

void nopal_plan_interpret(struct nopal_plan *plan)
{
	pthread_mutex_lock(&fused_lock);
	plan->fused = NULL;
	plan->fused_failed = "interpreted: asked for";
	atomic_store_explicit(&plan->fused_settled, true, memory_order_release);
	pthread_mutex_unlock(&fused_lock);
}
