/* SPDX-License-Identifier: MIT */
/*
 * send_words.c -- the words of `nopal send`, looked at before anything opens.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "send_words.h"

bool send_words_peer(const struct tool_call *call,
		     struct nopal_address *ret_peer)
{
	const char *peer = call->words[call->word_count - 1];
	const char *before = call->words[call->word_count - 2];

	if (call->word_count > 2 && strrchr(before, ':') &&
	    access(before, F_OK)) {
		fprintf(stderr,
			"error: %s and %s: files go to one destination at a "
			"time\n"
			"  fix: call `nopal send` once for each\n",
			before, peer);
		return false;
	}
	return tool_destination(peer, ret_peer);
}

static bool send_words_file(const char *path)
{
	const char *wrong = NULL;
	struct stat now;

	if (stat(path, &now) || access(path, R_OK))
		wrong = strerror(errno);
	else if (!S_ISREG(now.st_mode))
		wrong = S_ISDIR(now.st_mode) ? "is a folder"
					     : "is no plain file";
	if (!wrong)
		return true;
	fprintf(stderr, "error: %s: %s\n  fix: %s\n", path, wrong,
		strcmp(path, "-") == 0
			? "pipes go by `nopal stream`"
			: "give plain files that may be read; a folder goes as "
			  "an archive, as tar makes it");
	return false;
}

bool send_words_may_read(const struct tool_call *call)
{
	for (int i = 0; i + 1 < call->word_count; i++) {
		if (!send_words_file(call->words[i]))
			return false;
	}
	return true;
}
