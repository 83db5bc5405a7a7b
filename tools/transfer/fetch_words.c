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

static bool words_say_output(const char *path, const char *why, const char *fix)
{
	fprintf(stderr, "error: %s: %s\n  fix: %s\n", path, why, fix);
	return false;
}

bool fetch_words_output(const char *path, struct part_folder *ret_folder, char *ret_name)
{
	static const char *const fix = "give a file in a folder that may be written with -o";
	char folder[TRANSFER_TEXT_ROOM * 16] = ".";
	const char *slash, *refused, *name = path;
	struct stat now;

	if (stat(path, &now) == 0 && S_ISDIR(now.st_mode))
		return words_say_output(path, "is a folder", fix);
	slash = strrchr(path, '/');
	if (slash) {
		name = slash + 1;
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	}
	refused = transfer_name_refused(name);
	if (refused)
		return words_say_output(path, refused, fix);
	snprintf(ret_name, TRANSFER_TEXT_ROOM, "%s", name);
	ret_folder->limit = INT64_MAX;
	ret_folder->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_folder->fd >= 0 && faccessat(ret_folder->fd, ".", W_OK, 0) == 0)
		return true;
	words_say_output(folder, strerror(errno), fix);
	if (ret_folder->fd >= 0)
		close(ret_folder->fd);
	return false;
}

const char *fetch_words_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Options for one file only. */
static bool words_are_of_one(const struct tool_call *call)
{
	static const char *const of_one[] = { "output", "hash", "trace" };

	for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++) {
		if (!tool_value(call, of_one[i]))
			continue;
		fprintf(stderr,
			"error: --%s with several names\n"
			"  fix: give it with each of them alone\n",
			of_one[i]);
		return false;
	}
	return true;
}

int fetch_words_names(const struct tool_call *call)
{
	int names = 1;

	while (names < call->word_count - 1 && !strchr(call->words[names], ':'))
		names++;
	for (int i = 0; i < names; i++) {
		const char *name = call->words[i];
		const char *refused = transfer_path_refused(name);

		if (refused)
			fprintf(stderr,
				"error: %s: %s\n"
				"  fix: give the file's name as it is below the served "
				"folder, as film.mkv or films/film.mkv\n",
				name, refused);
		if (refused != NULL)
			return 0;
	}
	return names == 1 || words_are_of_one(call) ? names : 0;
}

bool fetch_words_count(const struct tool_call *call, int names)
{
	int servers = call->word_count - names;

	if (servers <= FETCH_SERVERS_MAX)
		return true;
	fprintf(stderr,
		"error: %d servers\n"
		"  fix: give at most %d\n",
		servers, FETCH_SERVERS_MAX);
	return false;
}

struct nopal_plan *fetch_words_plan(const struct tool_call *call)
{
	const char *config = tool_value(call, "config");
	struct nopal_plan *plan = tool_plan(call, config ? config : "fetch");

	if (!plan || transfer_plan_fits_many(plan))
		return plan;
	nopal_plan_unref(plan);
	return NULL;
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
			"  fix: give the %d digits that `nopal serve` and `nopal fetch` say\n",
			text, WORDS_HASH_DIGITS);
		return false;
	}
	fetch->given = true;
	fetch->hash = strtoull(text, NULL, WORDS_HASH_BASE);
	return true;
}
