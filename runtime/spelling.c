/* SPDX-License-Identifier: MIT */
/*
 * spelling.c -- are the roles and names that a microprotocol speaks of known?
 *
 * An order or an exclusion that names nobody asks for nothing, so a slip of the pen
 * would go unnoticed.  It is a warning and no error: the one that is named may be a
 * plugin that this config does not load.
 */
#include <stdio.h>
#include <stdlib.h>

#include "composing.h"
#include "problems.h"
#include "registry.h"

enum { WORD_ROOM = 64 };

/* What a layer's place gives, and no microprotocol provides. */
static const char spelling_places[] = "network|layer_below|flow|destinations";

static bool spelling_is_known(const char *word)
{
	if (nopal__word_in(spelling_places, '|', word))
		return true;
	for (size_t i = 0; i < nopal_registry_count(); i++)
		if (nopal__answers(nopal_registry_at(i), word))
			return true;
	return false;
}

/* The nearest name or role of the registry; NULL: none is near.  Caller frees. */
static char *spelling_nearest(const char *word)
{
	const char **names = NULL;
	size_t count = 0;
	char *text;

	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);
		const struct nopal_role *role = one->provides;

		names = nopal__one_more(names, count, sizeof(*names));
		names[count++] = one->name;
		for (; role && role->name; role++) {
			names = nopal__one_more(names, count, sizeof(*names));
			names[count++] = role->name;
		}
	}
	names = nopal__one_more(names, count, sizeof(*names));
	text = nopal__suggestion(word, names, NULL);
	free(names);
	return text;
}

static void spelling_words(const struct nopal_microprotocol *one,
			   struct nopal_place place, const char *what,
			   const char *words, struct nopal_problems *problems)
{
	const char *start;
	size_t length;

	while (words && (length = nopal__next_word(&words, '|', &start)) > 0) {
		char word[WORD_ROOM];
		char *fix;

		snprintf(word, sizeof(word), "%.*s", (int)length, start);
		if (spelling_is_known(word))
			continue;
		fix = spelling_nearest(word);
		nopal_problems_warn(problems, place.file, place.line, fix,
				    "%s of %s names `%s`, which is no "
				    "microprotocol and no role of one",
				    what, one->name, word);
		free(fix);
	}
}

void nopal__spelling_warn(const struct nopal_microprotocol *one,
			  struct nopal_place place,
			  struct nopal_problems *problems)
{
	const struct nopal_binding *binding = one->bindings;
	const struct nopal_relation *relation = one->excludes;
	const struct nopal_promise *row = one->promises;

	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		spelling_words(one, place, "`before`", binding->before,
			       problems);
		spelling_words(one, place, "`after`", binding->after, problems);
	}
	for (; relation && relation->role; relation++)
		spelling_words(one, place, "an exclusion", relation->role,
			       problems);
	for (; row && row->because; row++) {
		spelling_words(one, place, "a promise", row->with, problems);
		spelling_words(one, place, "a promise", row->without, problems);
	}
}
