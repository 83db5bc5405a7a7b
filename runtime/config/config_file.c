/* SPDX-License-Identifier: MIT */
/*
 * config_file.c -- where configs lie, and reading one.
 *
 * A word that holds a '/' or ends in .conf is a path.  A name is looked for, with .conf behind it,
 * beside the config that extends it, in the folders of $NOPAL_CONFIGS (divided by ':'), in the
 * installed folder and in ./configs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_tree.h"

static bool file_has_suffix(const char *name)
{
	size_t length = strlen(name), suffix = strlen(NOPAL_CONFIG_SUFFIX);

	return length > suffix && strcmp(name + length - suffix, NOPAL_CONFIG_SUFFIX) == 0;
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

const char *nopal__config_name(struct nopal_arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (file_has_suffix(base))
		length -= strlen(NOPAL_CONFIG_SUFFIX);
	return nopal__copy_part(arena, base, length);
}

static void file_say_nowhere(struct nopal__reader *reader, const char *name, const char *folders,
			     struct nopal_place place)
{
	const char **names = NULL, *rest = folders;
	size_t count = 0;

	do {
		const char *folder;
		size_t length = nopal__next_word(&rest, ':', &folder);
		DIR *directory = opendir(nopal__copy_part(reader->arena, folder, length));
		struct dirent *entry;

		while (directory && (entry = readdir(directory)) != NULL)
			if (file_has_suffix(entry->d_name))
				nopal__add_name(reader->arena, &names, &count,
						nopal__config_name(reader->arena, entry->d_name));
		if (directory)
			closedir(directory);
	} while (rest);
	nopal__add_name(reader->arena, &names, &count, NULL);
	nopal__problem_at(reader->problems, place,
			  "write a path, or put its folder into $NOPAL_CONFIGS; `nopal list "
			  "configs` shows those that are found",
			  "there is no config `%s`; looked in %s", name, folders);
	if (!reader->arena->failed)
		nopal__problems_suggest(reader->problems, nopal__config_name(reader->arena, name),
					names, NULL);
}

const char *nopal__config_find(struct nopal__reader *reader, const char *name_or_path,
			       struct nopal_place place)
{
	bool path = strchr(name_or_path, '/') != NULL;
	const char *named = getenv("NOPAL_CONFIGS"), *beside = place.file, *found;
	struct nopal_text folders = { .arena = reader->arena };

	if (path && *name_or_path != '/' && file_folder(place.file))
		found = nopal__printed(reader->arena, "%.*s/%s", (int)file_folder(place.file),
				       place.file, name_or_path);
	else
		found = nopal__copy(reader->arena, name_or_path);
	if (reader->arena->failed)
		return NULL;
	if ((path || file_has_suffix(name_or_path)) && file_is_regular(found))
		return found;
	if (path) {
		nopal__problem_at(reader->problems, place, "check the path",
				  "there is no config %s: %s", found,
				  strerror(errno ? errno : ENOENT));
		return NULL;
	}
	if (file_folder(beside))
		nopal__append(&folders, "%.*s:", (int)file_folder(beside), beside);
	else if (beside)
		nopal__append(&folders, ".:");
	if (named && *named)
		nopal__append(&folders, "%s:", named);
	nopal__append(&folders, "%s:./configs", nopal_installed(NOPAL_INSTALLED_CONFIGS));
	found = nopal__search(reader->arena, nopal__text(&folders), name_or_path,
			      file_has_suffix(name_or_path) ? "" : NOPAL_CONFIG_SUFFIX,
			      file_is_regular);
	if (!found && !reader->arena->failed)
		file_say_nowhere(reader, name_or_path, nopal__text(&folders), place);
	return found;
}

/* ------------------------------------------------------------------ reading */

const char *nopal__config_text(struct nopal__reader *reader, const char *path,
			       struct nopal_place place)
{
	struct nopal_text text = { .arena = reader->arena };
	static const char wrong_file[] = "is this the right file?";
	int file = open(path, O_RDONLY | O_CLOEXEC), failed;
	char part[BUFSIZ];
	ssize_t length;

	if (file < 0) {
		nopal_problems_add(reader->problems, place.file ? place.file : path, place.line,
				   "check the path and its rights", "%s cannot be opened: %s", path,
				   strerror(errno));
		return NULL;
	}
	/* By the plain calls: streams have buffers on the heap. */
	while ((length = read(file, part, sizeof(part))) > 0 && text.length <= NOPAL_CONFIG_BYTES)
		nopal__append_part(&text, part, (size_t)length);
	failed = length < 0 ? -errno : 0;
	close(file);
	if (failed)
		nopal_problems_add(reader->problems, path, 0, "check the file",
				   "the config cannot be read: %s", strerror(-failed));
	else if (text.length > NOPAL_CONFIG_BYTES)
		nopal_problems_add(reader->problems, path, 0, wrong_file,
				   "the config is larger than %d KiB", NOPAL_CONFIG_BYTES / 1024);
	else if (strlen(nopal__text(&text)) != text.length)
		nopal_problems_add(reader->problems, path, 0, wrong_file,
				   "the config is not a text: it holds a zero byte");
	else
		return nopal__text(&text);
	return NULL;
}
