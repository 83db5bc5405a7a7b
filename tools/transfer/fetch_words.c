/* SPDX-License-Identifier: MIT */
/*
 * fetch_words.c -- the words of `nopal fetch`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "transfer/fetch_words.h"

enum { WORDS_HASH_DIGITS = 16, WORDS_HASH_BASE = 16 };

static bool words_wrong_output(const char *path, const char *why, const char *fix)
{
	fprintf(stderr, "error: %s: %s\n  fix: %s\n", path, why, fix);
	return false;
}

bool fetch_words_output(const struct tool_call *call, const char *served,
			struct part_folder *ret_folder, char *ret_name)
{
	static const char *const fix = "give a file in a folder that may be written with -o";
	char folder[TRANSFER_TEXT_ROOM * 16] = ".";
	const char *path = tool_value(call, "output");
	const char *slash = strrchr(served, '/'), *refused, *name;
	struct stat now;

	if (!path)
		path = slash ? slash + 1 : served;
	name = path;
	if (stat(path, &now) == 0 && S_ISDIR(now.st_mode))
		return words_wrong_output(path, "is a folder", fix);
	slash = strrchr(path, '/');
	if (slash) {
		name = slash + 1;
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	}
	refused = transfer_name_refused(name);
	if (refused)
		return words_wrong_output(path, refused, fix);
	snprintf(ret_name, TRANSFER_TEXT_ROOM, "%s", name);
	ret_folder->limit = INT64_MAX;
	ret_folder->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_folder->fd >= 0 && faccessat(ret_folder->fd, ".", W_OK, 0) == 0)
		return true;
	words_wrong_output(folder, strerror(errno), fix);
	if (ret_folder->fd >= 0)
		close(ret_folder->fd);
	return false;
}

int fetch_words_names(const struct tool_call *call)
{
	static const char *const of_one_file[] = { "output", "hash", "trace" };
	int names = 1;

	while (names < call->word_count - 1 && !strchr(call->words[names], ':'))
		names++;
	for (int i = 0; i < names; i++) {
		const char *name = call->words[i];
		const char *refused = transfer_path_refused(name);

		if (!refused)
			continue;
		fprintf(stderr,
			"error: %s: %s\n"
			"  fix: give the file's name as it is below the served "
			"folder, as film.mkv or films/film.mkv\n",
			name, refused);
		return 0;
	}
	for (size_t i = 0; names > 1 && i < sizeof(of_one_file) / sizeof(*of_one_file); i++) {
		if (!tool_value(call, of_one_file[i]))
			continue;
		fprintf(stderr,
			"error: --%s with several names\n"
			"  fix: give this option with one name alone\n",
			of_one_file[i]);
		return 0;
	}
	if (call->word_count - names > FETCH_SERVERS_MAX) {
		fprintf(stderr,
			"error: %d servers\n"
			"  fix: give at most %d\n",
			call->word_count - names, FETCH_SERVERS_MAX);
		return 0;
	}
	return names;
}

bool fetch_words_hash(const struct tool_call *call, struct fetch *fetch)
{
	const char *text = tool_value(call, "hash");
	size_t digits;

	if (!text)
		return true;
	digits = strspn(text, "0123456789abcdefABCDEF");
	if (digits != WORDS_HASH_DIGITS || text[digits]) {
		fprintf(stderr,
			"error: --hash %s: no hash of a file\n"
			"  fix: give the %d digits that `nopal serve` and `nopal fetch` print\n",
			text, WORDS_HASH_DIGITS);
		return false;
	}
	fetch->given = true;
	fetch->hash = strtoull(text, NULL, WORDS_HASH_BASE);
	return true;
}
