/* SPDX-License-Identifier: MIT */
#include "support/selection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compose/composing.h"
#include "plan/plan.h"
#include "registry/registry.h"
#include <nopal/nopal.h>

enum { MAX_REFUSALS = 64 }; /* of one search */

/* --------------------------------------------------------- what there is */

static unsigned values_of(const struct nopal_parameter *parameter)
{
	unsigned count = 1;

	if (parameter->unit == NOPAL_SWITCH)
		return 2;
	for (const char *at = parameter->choices; *at; at++)
		count += *at == '|';
	return count;
}

void kit_value_word(const struct kit_setting *setting, unsigned value, char *text, size_t room)
{
	const char *rest = setting->parameter->choices, *word = NULL;
	size_t length = 0;

	if (setting->parameter->unit == NOPAL_SWITCH) {
		snprintf(text, room, "%s", value ? "on" : "off");
		return;
	}
	for (unsigned i = 0; i <= value; i++)
		length = nopal__next_word(&rest, '|', &word);
	snprintf(text, room, "%.*s", (int)length, word);
}

static unsigned initial_of(const struct kit_setting *setting)
{
	for (unsigned value = 0; value < setting->values; value++) {
		char word[64];

		kit_value_word(setting, value, word, sizeof(word));
		if (strcmp(word, setting->parameter->initial) == 0)
			return value;
	}
	return 0;
}

static void add_settings(struct kit_part *part)
{
	const struct nopal_parameter *at = part->microprotocol->parameters;

	for (; at && at->name; at++) {
		struct kit_setting *setting = &part->settings[part->setting_count];

		if (at->unit != NOPAL_WORD && at->unit != NOPAL_SWITCH)
			continue;
		assert(part->setting_count < KIT_SETTINGS);
		setting->parameter = at;
		setting->values = values_of(at);
		setting->initial = initial_of(setting);
		part->setting_count++;
	}
}

/* Attributes (0) and shared variables (1) alike: name and access of the i-th. */
static const char *variable(const struct nopal_microprotocol *one, int table, size_t i,
			    enum nopal_access *ret_access)
{
	if (table == 0 && one->attributes) {
		*ret_access = one->attributes[i].access;
		return one->attributes[i].name;
	}
	if (table == 1 && one->shared) {
		*ret_access = one->shared[i].access;
		return one->shared[i].name;
	}
	return NULL;
}

static bool writes(const struct nopal_microprotocol *one, int table, const char *wanted)
{
	enum nopal_access access;
	const char *name;

	for (size_t i = 0; (name = variable(one, table, i, &access)); i++)
		if (access == NOPAL_WRITE && strcmp(name, wanted) == 0)
			return true;
	return false;
}

static bool both_write(const struct nopal_microprotocol *a, const struct nopal_microprotocol *b)
{
	enum nopal_access access;
	const char *name;

	for (int table = 0; table < 2; table++)
		for (size_t i = 0; (name = variable(a, table, i, &access)); i++)
			if (access == NOPAL_WRITE && writes(b, table, name))
				return true;
	return false;
}

/* By a relation that nothing lifts. */
static bool excludes(const struct nopal_microprotocol *one, const struct nopal_microprotocol *other)
{
	const struct nopal_relation *relation = one->excludes;

	for (; relation && relation->role; relation++)
		if (!relation->unless && nopal__answers(other, relation->role))
			return true;
	return false;
}

static unsigned lift_of(const struct kit_part *one, const struct nopal_microprotocol *other)
{
	const struct nopal_relation *relation = one->microprotocol->excludes;

	for (; relation && relation->role; relation++) {
		if (!relation->unless || !nopal__answers(other, relation->role))
			continue;
		for (unsigned s = 0; s < one->setting_count; s++)
			if (strcmp(one->settings[s].parameter->name, relation->unless) == 0)
				return s + 1;
	}
	return 0;
}

static enum kit_conflict conflict_of(const struct nopal_microprotocol *a,
				     const struct nopal_microprotocol *b)
{
	if (excludes(a, b) || excludes(b, a))
		return KIT_EXCLUSION;
	if (nopal__role_of_both(a, b))
		return KIT_ONE_ROLE;
	return both_write(a, b) ? KIT_ONE_WRITER : KIT_NO_CONFLICT;
}

static void relate(struct kit *kit, unsigned a, unsigned b)
{
	const struct nopal_microprotocol *other = kit->parts[b].microprotocol;

	kit->conflict[a][b] = (uint8_t)conflict_of(kit->parts[a].microprotocol, other);
	kit->lift[a][b] = (uint8_t)lift_of(&kit->parts[a], other);
}

static bool is_of_test(const struct nopal_microprotocol *one)
{
	return strncmp(one->name, "a_", 2) == 0 || strncmp(one->name, "an_", 3) == 0;
}

void kit_take_stock(struct kit *kit, bool all)
{
	memset(kit, 0, sizeof(*kit));
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		struct kit_part *part = &kit->parts[kit->count];

		assert(kit->count < KIT_PARTS);
		part->microprotocol = nopal_registry_at(i);
		if (!all && is_of_test(part->microprotocol))
			continue;
		add_settings(part);
		kit->count++;
	}
	for (unsigned a = 0; a < kit->count; a++)
		for (unsigned b = 0; b < kit->count; b++)
			if (a != b)
				relate(kit, a, b);
}

/* ----------------------------------------------------------------- what lacks */

/* A role that somebody needs, or a variable that somebody reads; `who` NULL: the layer itself. */
struct lack {
	const struct nopal_microprotocol *who;
	const char *name;
	int table; /* of the variable; negative: it is a role */
};

static bool answers(const struct nopal_microprotocol *one, const struct lack *lack)
{
	if (lack->table >= 0)
		return writes(one, lack->table, lack->name);
	return one != lack->who && nopal__answers(one, lack->name);
}

static bool is_met(const struct selection *selection, const struct lack *lack)
{
	if (lack->table < 0 && nopal__words_overlap(selection->stands_on, lack->name, '|'))
		return true;
	for (unsigned i = 0; i < selection->kit->count; i++)
		if (selection->standing[i] == STANDING_IN &&
		    answers(selection->kit->parts[i].microprotocol, lack))
			return true;
	return false;
}

static bool lacks_role(const struct selection *selection, const struct nopal_microprotocol *one,
		       struct lack *lack)
{
	const struct nopal_relation *need = one->needs;

	for (; need && need->role; need++) {
		*lack = (struct lack){ one, need->role, -1 };
		if (!is_met(selection, lack))
			return true;
	}
	return false;
}

static bool lacks_writer(const struct selection *selection, const struct nopal_microprotocol *one,
			 struct lack *lack)
{
	enum nopal_access access;

	for (int table = 0; table < 2; table++) {
		const char *name;

		for (size_t i = 0; (name = variable(one, table, i, &access)); i++) {
			*lack = (struct lack){ one, name, table };
			if (access == NOPAL_READ && strcmp(name, NOPAL_RUNTIME_ATTRIBUTE) != 0 &&
			    !is_met(selection, lack))
				return true;
		}
	}
	return false;
}

static bool lacks(const struct selection *selection, struct lack *lack)
{
	static const char *const of_layer[] = { "driver", "message_segments" };

	for (size_t i = 0; i < 2; i++) {
		*lack = (struct lack){ NULL, of_layer[i], -1 };
		if (!is_met(selection, lack))
			return true;
	}
	for (unsigned i = 0; i < selection->kit->count; i++) {
		const struct nopal_microprotocol *one = selection->kit->parts[i].microprotocol;

		if (selection->standing[i] == STANDING_IN &&
		    (lacks_role(selection, one, lack) || lacks_writer(selection, one, lack)))
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------- the search */

enum kit_conflict selection_conflict(const struct selection *selection, unsigned part)
{
	for (unsigned i = 0; i < selection->kit->count; i++)
		if (selection->standing[i] == STANDING_IN && selection->kit->conflict[part][i])
			return (enum kit_conflict)selection->kit->conflict[part][i];
	return KIT_NO_CONFLICT;
}

bool selection_fits(const struct selection *selection, unsigned part)
{
	return (!selection->to_many || selection->kit->parts[part].microprotocol->many) &&
	       !selection_conflict(selection, part);
}

static int preference(const struct selection_search *search, unsigned part)
{
	return search->preference ? search->preference[part] : 0;
}

/* The best part that is open, fits and gives what lacks; `count`: none. */
static unsigned next_candidate(const struct selection *selection,
			       const struct selection_search *search, const struct lack *lack)
{
	unsigned best = selection->kit->count;

	for (unsigned i = 0; i < selection->kit->count; i++) {
		if (selection->standing[i] != STANDING_OPEN ||
		    !answers(selection->kit->parts[i].microprotocol, lack) ||
		    !selection_fits(selection, i))
			continue;
		if (best == selection->kit->count ||
		    preference(search, i) > preference(search, best))
			best = i;
	}
	return best;
}

static bool is_accepted(const struct selection *selection, struct selection_search *search)
{
	if (!search->parse)
		return true;
	search->parses++;
	if (selection_is_good(selection, search->text, sizeof(search->text)))
		return true;
	search->refused = true;
	search->given_up = search->parses >= MAX_REFUSALS;
	return false;
}

static void note_lack(struct selection_search *search, const struct lack *lack)
{
	if (!search->refused)
		snprintf(search->text, sizeof(search->text),
			 "%s needs %s, and nobody who gives it fits",
			 lack->who ? lack->who->name : "a layer", lack->name);
}

enum { LIFT_OFF = 1, LIFT_ON };

/* Of two that are in, of which one excludes the other but for a switch: it is on. False: it is off
 * already. */
static bool lift_all(struct selection *selection, struct selection_search *search)
{
	const struct kit *kit = selection->kit;

	for (unsigned a = 0; a < kit->count; a++)
		for (unsigned b = 0; selection->standing[a] == STANDING_IN && b < kit->count; b++) {
			unsigned lift = kit->lift[a][b];

			if (!lift || selection->standing[b] != STANDING_IN)
				continue;
			if (selection->value[a][lift - 1] == LIFT_OFF) {
				search->excluded = true;
				return false;
			}
			selection->value[a][lift - 1] = LIFT_ON;
		}
	return true;
}

/* Each candidate with all that it brings; one that failed stays out meanwhile, so that no set is
 * looked at twice. */
bool selection_complete(struct selection *selection, struct selection_search *search)
{
	unsigned failed[KIT_PARTS], failures = 0, candidate;
	struct selection before = *selection;
	bool found = false;
	struct lack lack;

	if (!lift_all(selection, search))
		goto out;
	if (!lacks(selection, &lack)) {
		found = is_accepted(selection, search);
		goto out;
	}
	while (!search->given_up) {
		candidate = next_candidate(selection, search, &lack);
		if (candidate == selection->kit->count)
			break;
		selection->standing[candidate] = STANDING_IN;
		found = selection_complete(selection, search);
		if (found)
			break;
		selection->standing[candidate] = STANDING_OUT;
		failed[failures++] = candidate;
	}
	if (!failures && !found)
		note_lack(search, &lack);
	while (failures)
		selection->standing[failed[--failures]] = STANDING_OPEN;
out:
	if (!found)
		*selection = before;
	return found;
}

/* -------------------------------------------------------------------- as text */

static void write_part(const struct selection *selection, unsigned index, FILE *out)
{
	const struct kit_part *part = &selection->kit->parts[index];

	fprintf(out, "%s {", part->microprotocol->name);
	for (unsigned s = 0; s < part->setting_count; s++) {
		char word[64];

		if (!selection->value[index][s])
			continue;
		kit_value_word(&part->settings[s], selection->value[index][s] - 1u, word,
			       sizeof(word));
		fprintf(out, " %s = %s", part->settings[s].parameter->name, word);
	}
	fprintf(out, " }\n");
}

char *selection_text(const struct selection *selection)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (unsigned i = 0; i < selection->kit->count; i++)
		if (selection->standing[i] == STANDING_IN)
			write_part(selection, i, out);
	fclose(out);
	return text;
}

bool selection_is_good(const struct selection *selection, char *text, size_t room)
{
	char *config = selection_text(selection);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(config, "selection.conf", NULL, &problems);
	for (size_t i = 0; !plan && i < problems.count; i++) {
		if (problems.entries[i].warning)
			continue;
		snprintf(text, room, "%s", problems.entries[i].cause);
		break;
	}
	nopal_problems_fini(&problems);
	free(config);
	nopal_plan_unref(plan);
	return plan != NULL;
}
