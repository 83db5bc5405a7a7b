/* SPDX-License-Identifier: MIT */
/*
 * relations.c -- needs, exclusions and roles within a layer.
 *
 * A need is met by another member that provides the role or has the name.  The layer itself needs
 * one driver and one message_segments.  Where the config says `requires = auto`, the provider that
 * declares itself the standard one of an open need is added, and those that it needs in turn, with
 * a warning that says so.
 */
#include <stdio.h>
#include <string.h>

#include "compose/composing.h"
#include "registry/registry.h"

/* Needs of every layer; the reasons are what goes wrong otherwise. */
static const struct nopal_relation relations_of_layer[] = {
	{ "driver", "without a driver no segment leaves" },
	{ "message_segments", "messages and segments would never meet" },
	{ 0 },
};

/* An open need: of a member, or of the layer itself (member NULL). */
struct relations_need {
	const struct nopal_relation *relation;
	const struct nopal_member *member;
	struct nopal_place place;
};

/* ------------------------------------------------------------------ questions */

/* The exclusion of `other` by `one` that its parameters do not lift; NULL, they lift none. */
static const struct nopal_relation *relations_excludes(const struct nopal_microprotocol *one,
						       const void *parameters,
						       const struct nopal_microprotocol *other)
{
	const struct nopal_relation *relation = one->excludes;

	for (; relation && relation->role; relation++)
		if (nopal__answers(other, relation->role) &&
		    !(parameters && relation->unless &&
		      nopal__parameter_holds(one, parameters, relation->unless)))
			return relation;
	return NULL;
}

/* A role of `one` that it calls exclusive and `other` provides too. */
static const char *relations_claimed(const struct nopal_microprotocol *one,
				     const struct nopal_microprotocol *other)
{
	const struct nopal_role *role = one->provides;

	for (; role && role->name; role++) {
		const struct nopal_role *same = role->exclusive ? other->provides : NULL;

		for (; same && same->name; same++)
			if (strcmp(same->name, role->name) == 0)
				return role->name;
	}
	return NULL;
}

const char *nopal__role_of_both(const struct nopal_microprotocol *one,
				const struct nopal_microprotocol *other)
{
	const char *role = relations_claimed(one, other);

	return role ? role : relations_claimed(other, one);
}

/* ------------------------------------------------------------------ providers */

static bool relations_fits(const struct nopal_composed_layer *layer,
			   const struct nopal_microprotocol *one)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_microprotocol *other = layer->members[i].microprotocol;

		if (other == one || relations_excludes(one, NULL, other) ||
		    relations_excludes(other, NULL, one) || nopal__role_of_both(one, other))
			return false;
	}
	return true;
}

/* The standard provider of the first alternative that has one which fits. */
static const struct nopal_microprotocol *relations_default(const struct nopal_composed_layer *layer,
							   const char *relation)
{
	const char *word;
	size_t length;

	while (relation && (length = nopal__next_word(&relation, '|', &word)) > 0)
		for (size_t i = 0; i < nopal_registry_count(); i++) {
			const struct nopal_microprotocol *one = nopal_registry_at(i);

			if ((nopal__part_in(one->name, '|', word, length) ||
			     nopal__part_in(one->standard, '|', word, length)) &&
			    relations_fits(layer, one))
				return one;
		}
	return NULL;
}

/* ---------------------------------------------------------------------- needs */

typedef bool relations_visit(struct nopal_composed_layer *layer, const struct relations_need *need,
			     struct nopal_problems *problems);

/* Visits the open needs until a visit says false. */
static bool relations_each(struct nopal_composed_layer *layer,
			   const struct nopal_relation *relation, const struct nopal_member *member,
			   relations_visit *visit, struct nopal_problems *problems)
{
	for (; relation && relation->role; relation++) {
		struct relations_need need = {
			.relation = relation,
			.member = member,
			.place = member ? member->place : layer->place,
		};

		bool met = nopal__words_overlap(layer->stands_on, relation->role, '|');

		for (size_t i = 0; !met && i < layer->count; i++)
			met = &layer->members[i] != member &&
			      nopal__answers(layer->members[i].microprotocol, relation->role);
		if (!met && !visit(layer, &need, problems))
			return false;
	}
	return true;
}

static bool relations_open(struct nopal_composed_layer *layer, relations_visit *visit,
			   struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];

		if (!relations_each(layer, member->microprotocol->needs, member, visit, problems))
			return false;
	}
	return relations_each(layer, relations_of_layer, NULL, visit, problems);
}

/* Members move when one is added, so the visits begin anew: false. */
static bool relations_add(struct nopal_composed_layer *layer, const struct relations_need *need,
			  struct nopal_problems *problems)
{
	const struct nopal_microprotocol *one = relations_default(layer, need->relation->role);
	const char *who = need->member ? need->member->microprotocol->name : "the layer";
	struct nopal_place place = need->place;
	struct nopal_member *added;

	if (!one)
		return true;
	nopal__warn_at(problems, place, NULL, "added %s, because %s needs %s: %s", one->name, who,
		       need->relation->role, need->relation->because);
	nopal__problems_fix(problems, "write `%s {}` to make it your own choice", one->name);
	added = nopal__member_add(layer, one, place);
	if (!added)
		return true;
	added->added_for = need->relation->role;
	nopal__parameters_read(layer->arena, added, NULL, problems);
	return false;
}

/* Roles that no microprotocol gives, and the fix for each. */
static const struct {
	const char *role, *fix;
} relations_places[] = {
	{ "destinations",
	  "put it into a layer right above one with `multiplicity = per_destination`" },
	{ "flow", "put it into a layer with `multiplicity = per_stream`, "
		  "or right above one that is `shared`" },
	{ "layer_below", "put it into a layer that is not the lowest" },
	{ "network", "move it into the lowest layer" },
	{ "application", "move it into the uppermost layer" },
	{ "application|streams", "move it into the uppermost layer, or right below one with "
				 "`multiplicity = per_stream`" },
	{ NULL, "nothing known provides it: is a `plugin` missing?" },
};

static bool relations_say_open(struct nopal_composed_layer *layer,
			       const struct relations_need *need, struct nopal_problems *problems)
{
	struct nopal_text all = { .arena = layer->arena };
	const char *fix;
	size_t count = 0, place = 0;

	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (nopal__answers(one, need->relation->role))
			nopal__append(&all, "%s%s {}", count++ ? ", " : "", one->name);
	}
	while (relations_places[place].role &&
	       strcmp(relations_places[place].role, need->relation->role) != 0)
		place++;
	fix = count ? nopal__printed(layer->arena, "add %s%s", count > 1 ? "one of: " : "",
				     nopal__text(&all))
		    : relations_places[place].fix;
	if (need->member)
		nopal__problem_at(problems, need->place, fix, "%s needs %s: %s",
				  need->member->microprotocol->name, need->relation->role,
				  need->relation->because);
	else
		nopal__problem_at(problems, need->place, fix, "layer `%s` has no %s: %s",
				  layer->name, need->relation->role, need->relation->because);
	return true;
}

void nopal__relations_complete(struct nopal_composed_layer *layer, bool automatic,
			       struct nopal_problems *problems)
{
	/* each round adds one that was not there: it ends */
	while (automatic && !relations_open(layer, relations_add, problems))
		continue;
	relations_open(layer, relations_say_open, problems);
}

/* ------------------------------------------------------------------ conflicts */

static void relations_exclusion(const struct nopal_member *one, const struct nopal_member *other,
				const struct nopal_relation *relation,
				struct nopal_problems *problems)
{
	const struct nopal_member *later = one->place.line > other->place.line ? one : other;
	const char *first = one->microprotocol->name;
	const char *second = other->microprotocol->name;

	nopal__problem_at(problems, later->place, NULL, "%s and %s exclude each other: %s", first,
			  second, relation->because);
	if (relation->unless)
		nopal__problems_fix(problems, "remove %s or %s, or set %s.%s = on", first, second,
				    first, relation->unless);
	else
		nopal__problems_fix(problems, "remove %s or %s", first, second);
}

void nopal__relations_check(const struct nopal_composed_layer *layer,
			    struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		for (size_t j = i + 1; j < layer->count; j++) {
			const struct nopal_member *one = &layer->members[i];
			const struct nopal_member *other = &layer->members[j];
			const struct nopal_microprotocol *a = one->microprotocol;
			const struct nopal_microprotocol *b = other->microprotocol;
			const struct nopal_relation *relation =
				relations_excludes(a, one->parameters, b);
			const char *role = nopal__role_of_both(a, b);

			if (relation)
				relations_exclusion(one, other, relation, problems);
			else if ((relation = relations_excludes(b, other->parameters, a)) != NULL)
				relations_exclusion(other, one, relation, problems);
			if (!role)
				continue;
			nopal__problem_at(problems, other->place, NULL,
					  "%s and %s both provide %s, of which a layer has one",
					  a->name, b->name, role);
			nopal__problems_fix(problems, "keep one of %s, %s", a->name, b->name);
		}
	}
}
