/* SPDX-License-Identifier: MIT */
#include "support/worth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/plan.h"
#include "support/said.h"
#include "support/test.h"

const char *const worth_words[WORTHS] = {
	[WORTH_REFUSED] = "refused without it", [WORTH_PROMISE] = "promise", [WORTH_COST] = "cost",
	[WORTH_OWN_TEST] = "its own test",	[WORTH_NOTHING] = "nothing",
};

enum { GATHERED_PORT = 1000 };

/* --------------------------------------------------------------------- promises */

/* Classes of messages that are promised something else: by property. */
static const char *const classes[] = { NULL,  "urgent",	     "out_of_band", "deadline",
				       "tag", "destination", "after" };

static bool class_loses(const struct nopal_service *with, const struct nopal_service *without,
			const char *messages, struct worth_line *line)
{
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++) {
		enum nopal_quality quality = (enum nopal_quality)i;
		unsigned value = with->quality[i].value;
		unsigned less = without->quality[i].value;

		if ((value & ~less) == 0)
			continue;
		snprintf(line->loss, sizeof(line->loss), "%s%s%s: %s, not %s",
			 nopal_quality_name(quality), messages ? " of " : "",
			 messages ? messages : "", nopal_quality_word(quality, less),
			 nopal_quality_word(quality, value));
		return true;
	}
	return false;
}

static bool promises_less(const struct nopal_plan *with, const struct nopal_plan *without,
			  struct worth_line *line)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		struct nopal_service here, there;

		nopal_plan_service(with, 0, classes[i], &here);
		nopal_plan_service(without, 0, classes[i], &there);
		if (class_loses(&here, &there, classes[i], line))
			return true;
	}
	return false;
}

/* An attribute that an application may give a message, or read of it. */
static bool has_property_less(const struct nopal_plan *with, const struct nopal_plan *without,
			      struct worth_line *line)
{
	const struct nopal_attribute *attribute = nopal_registry_find(line->name)->attributes;

	for (; attribute && attribute->name; attribute++)
		if (attribute->access == NOPAL_PROPERTY && nopal_property(with, attribute->name) &&
		    !nopal_property(without, attribute->name)) {
			snprintf(line->loss, sizeof(line->loss), "no property `%s`",
				 attribute->name);
			return true;
		}
	return false;
}

/* Does a group take one host so many times?  Nothing has to arrive. */
static bool gathers(struct nopal_plan *plan, unsigned times)
{
	static const struct nopal_callbacks nobody = { .opened = NULL };
	struct nopal_world *world = nopal_sim_new(1);
	struct nopal_session *group;
	struct nopal_address host;
	unsigned taken = 0;

	nopal_sim_address(nopal_sim_host(world), GATHERED_PORT, &host);
	group = nopal_session_open(&(struct nopal_open){
		.endpoint = nopal_sim_endpoint(world, 0, 0), .plan = plan, .callbacks = &nobody });
	assert_non_null(group);
	for (unsigned i = 0; i < times; i++)
		taken += nopal_destination_add(group, &host) >= 0;
	nopal_world_free(world);
	return taken == times;
}

/* A group may have a host once, or several streams to it. */
static bool gathers_less(struct nopal_plan *with, struct nopal_plan *without,
			 struct worth_line *line)
{
	if (!with->destinations || !gathers(with, 2) || gathers(without, 2))
		return false;
	snprintf(line->loss, sizeof(line->loss), "a host given twice has one stream, not two");
	return true;
}

/* ------------------------------------------------------------------------- a line */

/* A name, or a text with a newline; NULL: the first problem is the line's loss. */
static struct nopal_plan *plan_of(const char *config, struct worth_line *line)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = strchr(config, '\n') ? nopal_plan_parse(config, "line.conf", NULL, &problems)
				    : nopal_plan_load(config, NULL, &problems);
	for (size_t i = problems.count; !plan && i-- > 0;)
		if (!problems.entries[i].warning)
			snprintf(line->loss, sizeof(line->loss), "%s", problems.entries[i].cause);
	nopal_problems_fini(&problems);
	return plan;
}

static bool costs_less(struct costs *with, const char *text, struct worth_line *line)
{
	struct costs *without = costs_new(text);
	bool less = costs_more(without, with, line->loss, sizeof(line->loss));

	costs_free(without);
	return less;
}

/* Is it for paths that no network here is? */
static bool has_own_test(const struct nopal_microprotocol *microprotocol)
{
	const struct nopal_role *role = microprotocol->provides;

	for (; role && role->name; role++)
		if (strcmp(role->name, "path_model_modifier") == 0)
			return true;
	return false;
}

static enum worth worth_of(struct costs *with, const char *text, struct nopal_plan *plan,
			   struct worth_line *line)
{
	struct nopal_plan *rest = plan_of(text, line);
	enum worth worth = WORTH_NOTHING;

	if (!rest)
		return WORTH_REFUSED;
	if (promises_less(plan, rest, line) || has_property_less(plan, rest, line) ||
	    gathers_less(plan, rest, line))
		worth = WORTH_PROMISE;
	else if (costs_less(with, text, line))
		worth = WORTH_COST;
	nopal_plan_unref(rest);
	return worth;
}

void worth_judge(struct costs *with, const char *without, struct worth_line *ret_line)
{
	struct nopal_plan *plan = plan_of(with->config, ret_line);

	assert_non_null(plan);
	ret_line->loss[0] = '\0';
	ret_line->worth = worth_of(with, without, plan, ret_line);
	nopal_plan_unref(plan);
}

/* ----------------------------------------------------------------- shipped configs */

static char *text_without(const char *config, const struct nopal_composition *composition,
			  const struct worth_line *line)
{
	if (composition->layer_count == 1)
		return said("extends = \"%s\"\nwithout = {\"%s\"}\n", config, line->name);
	return said("extends = \"%s\"\nlayer \"%s\" {\nwithout = {\"%s\"}\n}\n", config,
		    line->layer, line->name);
}

static void judge_layer(struct costs *costs, const struct nopal_plan *plan,
			const struct nopal_composed_layer *layer, worth_told *told, void *user)
{
	for (size_t i = 0; i < layer->count; i++) {
		struct worth_line line = {
			.layer = layer->name,
			.name = layer->members[i].microprotocol->name,
		};
		char *without;

		if (has_own_test(layer->members[i].microprotocol)) {
			line.worth = WORTH_OWN_TEST;
			snprintf(line.loss, sizeof(line.loss), "see the test of its name");
			told(&line, user);
			continue;
		}
		without = text_without(costs->config, plan->composition, &line);
		worth_judge(costs, without, &line);
		told(&line, user);
		free(without);
	}
}

void worth_of_config(const char *name, worth_told *told, void *user)
{
	struct costs *costs = costs_new(name);
	struct worth_line line = { 0 };
	struct nopal_plan *plan = plan_of(name, &line);

	assert_non_null(plan);
	for (size_t i = 0; i < plan->composition->layer_count; i++)
		judge_layer(costs, plan, &plan->composition->layers[i], told, user);
	nopal_plan_unref(plan);
	costs_free(costs);
}
