/* SPDX-License-Identifier: MIT */
/*
 * config_file.c -- where configs lie, and reading one.
 *
 * What holds a '/' or ends in .conf is a path.  A name is looked for, with
 * .conf behind it, beside the config that extends it, in the folders of
 * $NOPAL_CONFIGS (divided by ':'), in the installed folder and in ./configs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_tree.h"
#include "problems.h"

#ifndef NOPAL_CONFIGS_DIR
#define NOPAL_CONFIGS_DIR "/usr/local/share/nopal/configs"
#endif

static bool file_has_suffix(const char *name)
{
	size_t length = strlen(name), suffix = strlen(NOPAL_CONFIG_SUFFIX);

	return length > suffix &&
	       strcmp(name + length - suffix, NOPAL_CONFIG_SUFFIX) == 0;
}

static bool file_is_regular(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

/* Length of the folder part, its '/' not counted; 0: there is none. */
static size_t file_folder(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? (size_t)(slash - path) : 0;
}

char *nopal__config_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (file_has_suffix(base))
		length -= strlen(NOPAL_CONFIG_SUFFIX);
	return nopal__copy_part(base, length);
}

static char *file_folders(const char *beside)
{
	const char *named = getenv("NOPAL_CONFIGS");
	struct nopal_text folders = { 0 };

	if (file_folder(beside))
		nopal__append(&folders, "%.*s:", (int)file_folder(beside),
			      beside);
	else if (beside)
		nopal__append(&folders, ".:");
	if (named && *named)
		nopal__append(&folders, "%s:", named);
	nopal__append(&folders, "%s:./configs", NOPAL_CONFIGS_DIR);
	return folders.text;
}

static char *file_search(const char *name, const char *folders)
{
	return nopal__search(folders, name,
			     file_has_suffix(name) ? "" : NOPAL_CONFIG_SUFFIX,
			     file_is_regular);
}

/* Names of the configs in these folders; each and the array are the caller's. */
static char **file_names(const char *folders, size_t *ret_count)
{
	char **names = NULL;
	size_t count = 0;

	do {
		const char *folder;
		size_t length = nopal__next_word(&folders, ':', &folder);
		char *path = nopal__copy_part(folder, length);
		DIR *directory = opendir(path);
		struct dirent *entry;

		while (directory && (entry = readdir(directory)) != NULL) {
			if (!file_has_suffix(entry->d_name))
				continue;
			names = nopal__one_more(names, count, sizeof(*names));
			names[count++] = nopal__config_name(entry->d_name);
		}
		if (directory)
			closedir(directory);
		free(path);
	} while (folders);
	names = nopal__one_more(names, count, sizeof(*names)); /* the NULL */
	*ret_count = count;
	return names;
}

static void file_say_nowhere(const char *name, const char *folders,
			     struct nopal_place place,
			     struct nopal_problems *problems)
{
	size_t count;
	char **names = file_names(folders, &count);
	char *wanted = nopal__config_name(name);
	char *fix = nopal__suggestion(
		wanted, (const char *const *)names,
		"write a path, or put its folder into $NOPAL_CONFIGS; `nopal "
		"list configs` shows those that are found");

	nopal_problems_add(problems, place.file, place.line, fix,
			   "there is no config `%s`; looked in %s", name,
			   folders);
	free(fix);
	free(wanted);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

char *nopal__config_find(const char *name_or_path, struct nopal_place place,
			 struct nopal_problems *problems)
{
	bool path = strchr(name_or_path, '/') != NULL;
	char *folders, *found;

	if (path && *name_or_path != '/' && file_folder(place.file))
		found = nopal__printed("%.*s/%s", (int)file_folder(place.file),
				       place.file, name_or_path);
	else
		found = nopal__copy(name_or_path);
	if ((path || file_has_suffix(name_or_path)) && file_is_regular(found))
		return found;
	if (path) {
		nopal_problems_add(problems, place.file, place.line,
				   "check the path",
				   "there is no config %s: %s", found,
				   strerror(errno ? errno : ENOENT));
		free(found);
		return NULL;
	}
	free(found);
	folders = file_folders(place.file);
	found = file_search(name_or_path, folders);
	if (!found)
		file_say_nowhere(name_or_path, folders, place, problems);
	free(folders);
	return found;
}

/* ------------------------------------------------------------------ reading */

static char *file_read(FILE *file, const char *path,
		       struct nopal_problems *problems)
{
	char *text = nopal__zeroed(NOPAL_CONFIG_BYTES + 2, 1);
	size_t length = fread(text, 1, NOPAL_CONFIG_BYTES + 1, file);

	if (ferror(file)) {
		nopal_problems_add(problems, path, 0, "check the file",
				   "the config cannot be read: %s",
				   strerror(errno));
	} else if (length > NOPAL_CONFIG_BYTES) {
		nopal_problems_add(problems, path, 0, "is this the right file?",
				   "the config is larger than %d KiB",
				   NOPAL_CONFIG_BYTES / 1024);
	} else if (memchr(text, '\0', length)) {
		nopal_problems_add(problems, path, 0, "is this the right file?",
				   "the config is not a text: it holds a zero "
				   "byte");
	} else {
		return text;
	}
	free(text);
	return NULL;
}

char *nopal__config_text(const char *path, struct nopal_place place,
			 struct nopal_problems *problems)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		nopal_problems_add(problems, place.file ? place.file : path,
				   place.line, "check the path and its rights",
				   "%s cannot be opened: %s", path,
				   strerror(errno));
		return NULL;
	}
	text = file_read(file, path, problems);
	fclose(file);
	return text;
}
