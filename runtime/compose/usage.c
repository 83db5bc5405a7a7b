/* SPDX-License-Identifier: MIT */
/*
 * usage.c -- who writes what, who reads it, and who is there for nothing.
 *
 * An attribute or shared variable has one writer in a layer.  What somebody needs to read somebody
 * must write.  A hold that its owner can never release stops every segment; a member whose facts
 * nobody reads and whose role nobody needs is worth a warning.
 */
#include <string.h>

#include "compose/composing.h"
#include "registry/registry.h"

/* Attributes and shared variables are checked alike. */
enum usage_table {
	USAGE_ATTRIBUTE,
	USAGE_SHARED,
	USAGE_TABLES,
};

static const char *const usage_nouns[] = {
	[USAGE_ATTRIBUTE] = "attribute",
	[USAGE_SHARED] = "shared variable",
};

struct usage_entry {
	const char *name; /* NULL: beyond the table */
	enum nopal_access access;
};

static struct usage_entry usage_at(const struct nopal_microprotocol *one, enum usage_table table,
				   size_t index)
{
	struct usage_entry entry = { 0 };

	if (table == USAGE_ATTRIBUTE && one->attributes) {
		entry.name = one->attributes[index].name;
		entry.access = one->attributes[index].access;
	} else if (table == USAGE_SHARED && one->shared) {
		entry.name = one->shared[index].name;
		entry.access = one->shared[index].access;
	}
	return entry;
}

/* Does it write the entry of this name, or, if not `write`, read it? */
static bool usage_names(const struct nopal_microprotocol *one, enum usage_table table,
			const char *name, bool write)
{
	struct usage_entry entry;

	for (size_t i = 0; (entry = usage_at(one, table, i)).name; i++)
		if ((entry.access == NOPAL_WRITE) == write && strcmp(entry.name, name) == 0)
			return true;
	return false;
}

/* The first other member that writes the entry, or reads it; NULL: there is none. */
static const struct nopal_member *usage_other(const struct nopal_composed_layer *layer,
					      const struct nopal_member *member,
					      enum usage_table table, const char *name, bool write)
{
	for (size_t i = 0; i < layer->count; i++)
		if (&layer->members[i] != member &&
		    usage_names(layer->members[i].microprotocol, table, name, write))
			return &layer->members[i];
	return NULL;
}

/* ------------------------------------------------------------ writers, readers */

static void usage_check_entry(const struct nopal_composed_layer *layer,
			      const struct nopal_member *member, enum usage_table table,
			      struct usage_entry entry, struct nopal_problems *problems)
{
	const struct nopal_member *writer = usage_other(layer, NULL, table, entry.name, true);
	struct nopal_text all = { .arena = layer->arena };

	/* of two that provide one role, that was said already */
	if (entry.access == NOPAL_WRITE && writer != member &&
	    !nopal__role_of_both(writer->microprotocol, member->microprotocol)) {
		nopal__problem_at(problems, member->place, NULL,
				  "%s and %s both write the %s %s, which has one writer",
				  writer->microprotocol->name, member->microprotocol->name,
				  usage_nouns[table], entry.name);
		nopal__problems_fix(problems, "keep one of %s, %s", writer->microprotocol->name,
				    member->microprotocol->name);
	}
	if (entry.access != NOPAL_READ || writer ||
	    strcmp(entry.name, NOPAL_RUNTIME_ATTRIBUTE) == 0)
		return;
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (usage_names(one, table, entry.name, true))
			nopal__append(&all, "%s%s {}", all.length ? " or " : "add ", one->name);
	}
	nopal__problem_at(problems, member->place,
			  all.length ? nopal__text(&all)
				     : "nothing known writes it: is a `plugin` missing?",
			  "%s reads the %s %s, which nobody writes", member->microprotocol->name,
			  usage_nouns[table], entry.name);
}

void nopal__usage_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];

		for (int table = 0; table < USAGE_TABLES; table++) {
			struct usage_entry entry;

			for (size_t j = 0;
			     (entry = usage_at(member->microprotocol, (enum usage_table)table, j))
				     .name;
			     j++)
				usage_check_entry(layer, member, (enum usage_table)table, entry,
						  problems);
		}
	}
}

/* ---------------------------------------------------------------------- holds */

static const char *const usage_barriers[] = {
	[NOPAL_SEND] = "send",
	[NOPAL_DONE] = "done",
	[NOPAL_DEALLOCATE] = "deallocate",
	[NOPAL_DELIVER] = "deliver",
};

void nopal__holds_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];
		const struct nopal_microprotocol *one = member->microprotocol;
		const struct nopal_hold *hold = one->holds;
		bool binds = one->bindings && one->bindings->event != NOPAL_NO_EVENT;
		bool times = one->timers && one->timers->name;

		/* A bit is released by its owner alone, from a handler or a timer. */
		for (; hold && hold->why && !binds && !times; hold++)
			nopal__problem_at(
				problems, member->place,
				"remove it, or give it a handler that releases the bit",
				"%s holds a %s bit that nobody can ever complete: it handles "
				"no event and has no timer",
				one->name, usage_barriers[hold->barrier]);
	}
}

/* ----------------------------------------------------------------------- dead */

/* Is anything that it writes read by another?  `*ret_writes`: it does write. */
static bool usage_is_read(const struct nopal_composed_layer *layer,
			  const struct nopal_member *member, bool *ret_writes)
{
	*ret_writes = false;
	for (int i = 0; i < USAGE_TABLES; i++) {
		enum usage_table table = (enum usage_table)i;
		struct usage_entry entry;

		for (size_t j = 0; (entry = usage_at(member->microprotocol, table, j)).name; j++) {
			if (entry.access != NOPAL_WRITE)
				continue;
			*ret_writes = true;
			if (usage_other(layer, member, table, entry.name, false))
				return true;
		}
	}
	return false;
}

static bool usage_is_needed(const struct nopal_composed_layer *layer,
			    const struct nopal_member *member)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_relation *need = layer->members[i].microprotocol->needs;

		for (; need && need->role; need++) {
			if (&layer->members[i] != member &&
			    nopal__answers(member->microprotocol, need->role))
				return true;
		}
	}
	return false;
}

/* Does it act on its own: hold, send, seal, admit, raise, filter what arrives, or see to copies?  A
 * tap that only looks (a checker) writes nothing and is no case. */
static bool usage_acts(const struct nopal_microprotocol *one)
{
	const struct nopal_binding *binding = one->bindings;

	if ((one->holds && one->holds->why) || (one->kinds && one->kinds->name) || one->seal ||
	    one->admission || one->format || (one->raises && *one->raises))
		return true;
	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		if (binding->event == NOPAL_SEGMENT_FROM_NET || binding->event == NOPAL_COPY_DONE)
			return true;
	}
	return false;
}

void nopal__usage_warn(const struct nopal_composed_layer *layer, struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];
		bool writes;

		if (!usage_acts(member->microprotocol) && !usage_is_needed(layer, member) &&
		    !usage_is_read(layer, member, &writes) && writes) {
			nopal__warn_at(problems, member->place,
				       "remove it, or add what would read its facts",
				       "%s is there for nothing: it holds nothing, and "
				       "nobody reads or needs what it provides",
				       member->microprotocol->name);
		}
	}
}
