/* SPDX-License-Identifier: MIT */
/*
 * send_words.c -- the words of `nopal send`, looked at before anything opens.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "transfer/send_words.h"

int send_words_files(const struct tool_call *call)
{
	int files = call->word_count - 1;

	while (files > 1 && strrchr(call->words[files - 1], ':') &&
	       access(call->words[files - 1], F_OK))
		files--;
	return files;
}

bool send_words_peers(const struct tool_call *call, int files, struct nopal_address *ret_peers)
{
	int count = call->word_count - files;

	for (int i = 0; i < count; i++) {
		const char *word = call->words[files + i];

		if (!tool_destination(word, &ret_peers[i]))
			return false;
		for (int j = 0; j < i; j++) {
			if (!nopal_address_equal(&ret_peers[i], &ret_peers[j]))
				continue;
			fprintf(stderr,
				"error: %s is there twice\n"
				"  fix: give each address once\n",
				word);
			return false;
		}
	}
	return true;
}

bool send_words_fit(const struct tool_call *call, int files, const struct nopal_plan *plan)
{
	if (call->word_count - files == 1 || nopal_plan_provides(plan, "fan_out"))
		return true;
	fprintf(stderr,
		"error: %s and %s: config %s has one destination\n"
		"  fix: take -c one_to_many_all, or _any, _quorum, _balance; or call `nopal send` "
		"once for each\n",
		call->words[call->word_count - 2], call->words[call->word_count - 1],
		nopal_plan_name(plan));
	return false;
}

bool send_words_may_read(const struct tool_call *call, int files)
{
	for (int i = 0; i < files; i++) {
		const char *path = call->words[i];
		const char *wrong = NULL;
		struct stat now;

		if (stat(path, &now) || access(path, R_OK))
			wrong = strerror(errno);
		else if (!S_ISREG(now.st_mode))
			wrong = S_ISDIR(now.st_mode) ? "is a folder" : "is no plain file";
		if (wrong) {
			fprintf(stderr, "error: %s: %s\n  fix: %s\n", path, wrong,
				strcmp(path, "-") == 0
					? "pipes go by `nopal stream`"
					: "give plain files that may be read; a folder goes as "
					  "an archive, as tar makes it");
			return false;
		}
	}
	return true;
}
