/* SPDX-License-Identifier: MIT */
/*
 * refusal.c -- why two compositions do not fit, in words for people.
 */
#include <stdio.h>
#include <string.h>

#include "wire/wire.h"

char *nopal__peer_text(struct nopal_reader *body)
{
	size_t length = nopal_read_left(body);
	const uint8_t *bytes = nopal_read_bytes(body, length);
	char *text = calloc(1, length + 1);

	for (size_t i = 0; text && bytes && i < length && bytes[i]; i++)
		text[i] = (bytes[i] >= ' ' && bytes[i] < 0x7f) || bytes[i] == '\n' ? (char)bytes[i]
										   : '?';
	return text;
}

static size_t diff_lines(const char *diff)
{
	size_t lines = 0;

	for (; diff && *diff; diff++)
		lines += *diff == '\n';
	return lines;
}

char *nopal__nearest_diff(const struct nopal_endpoint *endpoint, const char *theirs,
			  const char **ret_name)
{
	char *best = NULL;

	*ret_name = NULL;
	for (const struct nopal_listener_entry *entry = endpoint->listeners; entry;
	     entry = entry->next) {
		char *diff = nopal_canonical_diff(theirs, entry->plan->info.canonical);

		if (best && diff_lines(best) <= diff_lines(diff)) {
			free(diff);
			continue;
		}
		free(best);
		best = diff;
		*ret_name = entry->plan->info.name;
	}
	return best;
}

/* Takes the difference, which may be NULL. */
static char *in_words(const char *head, const char *name, const char *tail, char *diff)
{
	size_t room = diff ? strlen(head) + strlen(name) + strlen(tail) + strlen(diff) + 1 : 0;
	char *text = diff ? malloc(room) : NULL;

	if (text)
		snprintf(text, room, "%s%s%s%s", head, name, tail, diff);
	free(diff);
	return text;
}

char *nopal__listeners_differ(const struct nopal_endpoint *endpoint, const char *theirs)
{
	const char *name;
	char *diff = nopal__nearest_diff(endpoint, theirs, &name);

	return in_words("the listener does not run this composition; its nearest is ", name,
			" (- only at the listener, + only here):\n", diff);
}

char *nopal__plans_differ(const char *here, const char *there)
{
	return in_words("the peer runs another composition", "",
			" (- only at the peer, + only here):\n", nopal_canonical_diff(here, there));
}
