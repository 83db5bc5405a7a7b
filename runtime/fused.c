/* SPDX-License-Identifier: MIT */
/*
 * fused.c -- finds the fused unit of a plan, where there is one.
 *
 * It is NAME.fused.so, NAME being the config's: in the folders of $NOPAL_FUSED
 * (divided by ':'; the word `off` finds none), beside the config, or installed.
 * It is taken where it was made by this very library and from the same plan, and
 * never unloaded, as plugins are not.
 */
#include "fused.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

#ifndef NOPAL_PLUGINS_DIR
#define NOPAL_PLUGINS_DIR "/usr/local/lib/nopal"
#endif

#define TEXT_OF(name)	#name
#define SYMBOL_OF(name) TEXT_OF(name)

/* $NOPAL_FUSED, then the config's folder, then the installed one. */
static char *fused_folders(const char *config_file)
{
	const char *named = getenv("NOPAL_FUSED");
	const char *slash = config_file ? strrchr(config_file, '/') : NULL;
	struct nopal_text folders = { 0 };

	if (named && *named)
		nopal__append(&folders, "%s:", named);
	if (slash)
		nopal__append_part(&folders, config_file,
				   (size_t)(slash - config_file));
	if (config_file)
		nopal__append(&folders, slash ? ":" : ".:");
	nopal__append(&folders, "%s/fused", NOPAL_PLUGINS_DIR);
	return folders.text;
}

static char *fused_file(const char *name, const char *config_file)
{
	char *folders = fused_folders(config_file);
	char *path = nopal__search(folders, name, NOPAL_FUSED_SUFFIX,
				   nopal__is_readable);

	free(folders);
	return path;
}

/* The loader dies of an object that is cut off; its table of sections is last. */
static bool is_whole(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) head;
	struct stat is;
	bool whole;

	if (file < 0)
		return false;
	whole = fstat(file, &is) == 0 &&
		read(file, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
		head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize <=
			(uint64_t)is.st_size;
	close(file);
	return whole;
}

/* NULL, and why not. */
static const struct nopal_fused *fused_open(const struct nopal_plan *plan,
					    const char *path,
					    const char **ret_why)
{
	void *object =
		is_whole(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct nopal_fused *unit =
		object ? dlsym(object, SYMBOL_OF(NOPAL_FUSED_SYMBOL)) : NULL;

	if (!unit)
		*ret_why = "is no fused unit, or does not load";
	else if (strcmp(unit->stamp, nopal__stamp) != 0)
		*ret_why = "was made for another version";
	else if (unit->shape != nopal__plan_shape(plan))
		*ret_why = "was made from another composition";
	else
		return unit;
	return NULL;
}

void nopal__fused_find(struct nopal_plan *plan, const char *config_file)
{
	const char *named = getenv("NOPAL_FUSED"), *why = NULL;
	char *path = NULL;

	if (named && strcmp(named, "off") == 0) {
		plan->fused_text = nopal__copy("interpreted: NOPAL_FUSED=off");
		return;
	}
	path = fused_file(plan->name, config_file);
	if (path)
		plan->fused = fused_open(plan, path, &why);
	if (plan->fused)
		plan->fused_text = nopal__printed("fused: %s", path);
	else if (path)
		plan->fused_text =
			nopal__printed("interpreted: %s %s", path, why);
	else
		plan->fused_text = nopal__printed(
			"interpreted: there is no %s" NOPAL_FUSED_SUFFIX
			"; `nopal fuse` makes it",
			plan->name);
	free(path);
}

const char *nopal_plan_runs(const struct nopal_plan *plan)
{
	return plan->fused_text;
}

void nopal_plan_interpret(struct nopal_plan *plan)
{
	plan->fused = NULL;
	free(plan->fused_text);
	plan->fused_text = nopal__copy("interpreted: asked for");
}
