/* SPDX-License-Identifier: MIT */
/*
 * installed.c -- the folders that were installed with the library, wherever its prefix lies now.
 *
 *   PREFIX/LIBDIR/libnopal.so.0         the library knows its own path
 *   PREFIX/LIBDIR/nopal                 plugins, and fused units below them
 *   PREFIX/share/nopal/configs, sources, templates
 *
 * A prefix may be moved as a whole, or be filled through DESTDIR and copied to another machine.  A
 * library that lies in no prefix (in a build folder, or linked into a program) takes the folders
 * that `meson install` would fill.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nopal/nopal.h>

#ifndef NOPAL_PREFIX
#define NOPAL_PREFIX	    "/usr/local"
#define NOPAL_LIBRARY_DIR   NOPAL_PREFIX "/lib"
#define NOPAL_PLUGINS_DIR   NOPAL_LIBRARY_DIR "/nopal"
#define NOPAL_CONFIGS_DIR   NOPAL_PREFIX "/share/nopal/configs"
#define NOPAL_SOURCES_DIR   NOPAL_PREFIX "/share/nopal/sources"
#define NOPAL_TEMPLATES_DIR NOPAL_PREFIX "/share/nopal/templates"
#endif

static const char *const folder_built[] = {
	[NOPAL_INSTALLED_PLUGINS] = NOPAL_PLUGINS_DIR,
	[NOPAL_INSTALLED_CONFIGS] = NOPAL_CONFIGS_DIR,
	[NOPAL_INSTALLED_SOURCES] = NOPAL_SOURCES_DIR,
	[NOPAL_INSTALLED_TEMPLATES] = NOPAL_TEMPLATES_DIR,
};
enum { FOLDERS = sizeof(folder_built) / sizeof(*folder_built) };

static char folder_moved[FOLDERS][PATH_MAX];
static const char *folder_found[FOLDERS];

/* The part behind the prefix of a folder that was built in; NULL: the folder lies elsewhere. */
static const char *below_prefix(const char *folder)
{
	size_t length = strlen(NOPAL_PREFIX);

	return strncmp(folder, NOPAL_PREFIX, length) == 0 ? folder + length : NULL;
}

/* The length of the prefix in the path of this very code, where its folder ends as the installed
 * one does; 0: it lies in none, or its path is not known. */
static size_t prefix_length(char ret_path[PATH_MAX])
{
	const char *below = below_prefix(NOPAL_LIBRARY_DIR);
	size_t tail = below ? strlen(below) : 0, length;
	Dl_info info;
	char *slash;

	if (!dladdr(folder_built, &info) || !info.dli_fname || !realpath(info.dli_fname, ret_path))
		return 0;
	slash = strrchr(ret_path, '/');
	length = slash ? (size_t)(slash - ret_path) : 0;
	if (tail == 0 || length <= tail || strncmp(slash - tail, below, tail) != 0)
		return 0;
	return length - tail;
}

static void folders_find(void)
{
	char folder[PATH_MAX];
	size_t length = prefix_length(folder);

	for (unsigned which = 0; which < FOLDERS; which++) {
		const char *below = below_prefix(folder_built[which]);
		char *moved = folder_moved[which];

		folder_found[which] = folder_built[which];
		if (!length || !below || length + strlen(below) >= PATH_MAX)
			continue;
		memcpy(moved, folder, length);
		strcpy(moved + length, below);
		if (access(moved, R_OK | X_OK) == 0)
			folder_found[which] = moved;
	}
}

const char *nopal_installed(enum nopal_installed which)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, folders_find);
	return folder_found[which];
}
