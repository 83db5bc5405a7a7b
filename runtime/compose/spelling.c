/* SPDX-License-Identifier: MIT */
/*
 * spelling.c -- are the roles and names that a microprotocol speaks of known?
 *
 * An order or an exclusion that names nobody asks for nothing, so a slip of the pen would go
 * unnoticed.  It is a warning and no error: the one that is named may be a plugin that this config
 * does not load.
 */
#include <stdio.h>

#include "compose/composing.h"
#include "registry/registry.h"

enum { WORD_ROOM = 64 };

struct spelling {
	struct nopal_arena *arena;
	const struct nopal_member *member;
	struct nopal_problems *problems;
};

/* Roles that a layer's place gives, and no microprotocol provides. */
static const char spelling_places[] = "application|network|layer_below|flow|destinations";

static bool spelling_is_known(const char *word)
{
	if (nopal__word_in(spelling_places, '|', word))
		return true;
	for (size_t i = 0; i < nopal_registry_count(); i++)
		if (nopal__answers(nopal_registry_at(i), word))
			return true;
	return false;
}

static void spelling_words(const struct spelling *spelling, const char *what, const char *words)
{
	const char *start;
	size_t length;

	while (words && (length = nopal__next_word(&words, '|', &start)) > 0) {
		const char **names = NULL;
		size_t count = 0;
		char word[WORD_ROOM];

		snprintf(word, sizeof(word), "%.*s", (int)length, start);
		if (spelling_is_known(word))
			continue;
		nopal__warn_at(spelling->problems, spelling->member->place, NULL,
			       "%s of %s names `%s`, which is no "
			       "microprotocol and no role of one",
			       what, spelling->member->microprotocol->name, word);
		/* All names and roles of the registry. */
		for (size_t i = 0; i < nopal_registry_count(); i++) {
			const struct nopal_microprotocol *one = nopal_registry_at(i);
			const struct nopal_role *role = one->provides;

			nopal__add_name(spelling->arena, &names, &count, one->name);
			for (; role && role->name; role++)
				nopal__add_name(spelling->arena, &names, &count, role->name);
		}
		nopal__add_name(spelling->arena, &names, &count, NULL);
		if (!spelling->arena->failed)
			nopal__problems_suggest(spelling->problems, word, names, NULL);
	}
}

void nopal__spelling_warn(struct nopal_arena *arena, const struct nopal_member *member,
			  struct nopal_problems *problems)
{
	const struct spelling spelling = { arena, member, problems };
	const struct nopal_microprotocol *one = member->microprotocol;
	const struct nopal_binding *binding = one->bindings;
	const struct nopal_relation *relation = one->excludes;
	const struct nopal_promise *row = one->promises;

	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		spelling_words(&spelling, "`before`", binding->before);
		spelling_words(&spelling, "`after`", binding->after);
	}
	for (; relation && relation->role; relation++)
		spelling_words(&spelling, "an exclusion", relation->role);
	for (; row && row->because; row++) {
		spelling_words(&spelling, "a promise", row->with);
		spelling_words(&spelling, "a promise", row->without);
	}
}
