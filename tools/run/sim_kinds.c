/* SPDX-License-Identifier: MIT */
/*
 * sim_kinds.c -- messages of a simulated run by their properties.
 *
 * An order between messages of two kinds holds where both kinds are promised it: a message out of
 * band overtakes others, and others overtake it.
 */
#include "run/sim_kinds.h"

#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "run/sim.h"

/* ---------------------------------------------------------------------- kinds */

static unsigned class_of(const struct sim_kinds *kinds, uint64_t number)
{
	struct nopal_property properties[PROPERTIES_MAX];
	unsigned class;

	properties_of(&kinds->with, number, properties, &class);
	return class;
}

static unsigned kind_find(const struct sim_kinds *kinds, unsigned class)
{
	unsigned kind = 0;

	while (kind < kinds->count && kinds->one[kind].class != class)
		kind++;
	return kind;
}

unsigned sim_kind_of(const struct sim_kinds *kinds, uint64_t number)
{
	return kinds->with.rule_count ? kind_find(kinds, class_of(kinds, number)) : 0;
}

static void kind_add(struct sim_kinds *kinds, const struct nopal_plan *plan, unsigned class)
{
	struct sim_kind *kind = &kinds->one[kinds->count++];

	kind->class = class;
	nopal_plan_service(plan, 0, properties_names(&kinds->with, class, kind->names),
			   &kind->promised);
	kind->patience_ns = judge_bound(plan, &kind->promised.quality[NOPAL_ORDER]);
}

bool sim_kinds_find(struct sim_kinds *kinds, const struct nopal_plan *plan, uint64_t seed,
		    uint64_t messages)
{
	kinds->with.seed = seed;
	memset(kinds->one, 0, sizeof(kinds->one));
	kinds->count = 0;
	kinds->label = nopal_property(plan, "label");
	kinds->tag = nopal_property(plan, "tag");
	if (!kinds->with.rule_count) {
		kind_add(kinds, plan, 0);
		kinds->one[0].messages = messages;
	}
	for (uint64_t i = 0; kinds->with.rule_count && i < messages; i++) {
		unsigned class = class_of(kinds, i), kind = kind_find(kinds, class);

		if (kind == SIM_KINDS)
			return tool_error(
				"--with: messages have more than %d combinations of properties\n"
				"  fix: give fewer rules",
				SIM_KINDS);
		if (kind == kinds->count)
			kind_add(kinds, plan, class);
		kinds->one[kind].messages++;
	}
	return true;
}

/* -------------------------------------------------------------------- history */

bool sim_history_init(struct sim_history *history, const struct sim_kinds *kinds)
{
	history->came = calloc(kinds->count, sizeof(*history->came));
	for (unsigned i = 0; i < kinds->count; i++)
		if (!history->tags && strstr(kinds->one[i].names, "tag"))
			history->tags = calloc(SIM_TAGS, sizeof(*history->tags));
	return history->came != NULL;
}

void sim_history_fini(struct sim_history *history)
{
	free(history->came);
	free(history->tags);
}

/* Of many tags the rarer ones are forgotten, and not judged. */
static void tag_note(struct sim_history *history, const struct sim_kinds *kinds, unsigned kind,
		     uint64_t number)
{
	uint64_t tag = properties_value(&kinds->with, number, "tag");
	struct sim_tag *known;

	if (!history->tags || !tag || !sim_kind_promises(kinds, kind, NOPAL_ORDER, NOPAL_BY_TAG))
		return;
	known = &history->tags[tag % SIM_TAGS];
	if (known->tag == tag && number + 1 < known->beyond)
		judge_note(&history->came[kind].tag_overtaken, number);
	else
		*known = (struct sim_tag){ tag, number + 1 };
}

/* Before a message, the one has come that it names, unless that took too long.  Named is message
 * L by its label L, as `label=index` gives it. */
static void named_note(struct sim_history *history, const struct sim_kinds *kinds, unsigned kind,
		       const struct sim_arrival *arrival)
{
	uint64_t after = properties_value(&kinds->with, arrival->number, "after");

	if (!after || after - 1 >= arrival->number || sim_traffic_seen(arrival->seen, after - 1) ||
	    properties_value(&kinds->with, after - 1, "label") != after ||
	    arrival->delay_ns >= kinds->one[kind].patience_ns ||
	    !sim_kind_promises(kinds, kind, NOPAL_ORDER, NOPAL_AFTER_NAMED) ||
	    !sim_kind_promises(kinds, sim_kind_of(kinds, after - 1), NOPAL_DELIVERY, NOPAL_ALL))
		return;
	judge_note(&history->came[kind].early, arrival->number);
}

void sim_history_note(struct sim_history *history, const struct sim_kinds *kinds,
		      const struct sim_arrival *arrival)
{
	uint64_t number = arrival->number;
	unsigned kind = sim_kind_of(kinds, number);
	uint64_t label, tag;
	struct sim_came *came = &history->came[kind];

	if (number + 1 > history->beyond)
		history->beyond = number + 1;
	if (sim_kind_promises(kinds, kind, NOPAL_ORDER, NOPAL_GAPLESS) &&
	    number + 1 > history->beyond_gapless)
		history->beyond_gapless = number + 1;
	if (sim_kind_promises(kinds, kind, NOPAL_ORDER, NOPAL_FORWARD)) {
		if (number + 1 < history->beyond_forward)
			judge_note(&came->overtaken, number);
		else
			history->beyond_forward = number + 1;
	}
	if (!kinds->with.rule_count)
		return;
	tag_note(history, kinds, kind, number);
	named_note(history, kinds, kind, arrival);
	label = properties_value(&kinds->with, number, "label");
	tag = properties_value(&kinds->with, number, "tag");
	if (sim_kind_promises(kinds, kind, NOPAL_LABELS, NOPAL_EACH_MESSAGE) &&
	    ((label && nopal_message_property(arrival->message, kinds->label) != label) ||
	     (tag && nopal_message_property(arrival->message, kinds->tag) != tag)))
		judge_note(&came->relabelled, number);
}
