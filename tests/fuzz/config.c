/* SPDX-License-Identifier: MIT */
/*
 * config -- fuzz target: the text of a config.
 *
 * The text is composed and built to a plan, and where that is good, all of the plan is looked at,
 * as `nopal explain` and `nopal fuse` do.  A refusal has to say why, and problems without an error
 * refuse nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "input.h"
#include "inspect/show.h"

enum { HANDLERS = 64 };

static FILE *nowhere;

static void look_at_part(const struct nopal_part *part)
{
	const struct nopal_parameter *parameter = part->microprotocol->parameters;
	char text[SHOW_VALUE_ROOM];

	for (; parameter && parameter->name; parameter++)
		fprintf(nowhere, "%s = %s\n", parameter->name, show_value(part, parameter, text));
}

static void look_at_fields(const struct nopal_plan *plan)
{
	const struct nopal_plan_field *fields;
	size_t count = nopal_plan_fields(plan, &fields);

	for (size_t i = 0; i < count; i++)
		fprintf(nowhere, "%u %s %s\n", fields[i].bytes, fields[i].attribute,
			fields[i].microprotocol ? fields[i].microprotocol : "");
}

static void look_at_handlers(const struct nopal_plan *plan)
{
	const struct nopal_part *parts[HANDLERS];

	for (unsigned event = 0; nopal_event_name(event); event++) {
		size_t count = nopal_plan_handlers(plan, event, parts, HANDLERS);

		for (size_t i = 0; i < count && i < HANDLERS; i++)
			fputs(parts[i]->microprotocol->name, nowhere);
	}
}

static void look_at(const struct nopal_plan *plan, struct nopal_problems *problems)
{
	fprintf(nowhere, "%s %s %llx %u %u %llu %d %s\n", nopal_plan_info(plan)->name,
		nopal_plan_info(plan)->description,
		(unsigned long long)nopal_plan_info(plan)->fingerprint,
		nopal_plan_info(plan)->header_bytes, nopal_plan_info(plan)->body_bytes,
		(unsigned long long)nopal_plan_info(plan)->message_limit,
		nopal_plan_can_rendezvous(plan), nopal_plan_runs(plan));
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++)
		look_at_part(nopal_plan_part(plan, i));
	look_at_fields(plan);
	look_at_handlers(plan);
	free(nopal_canonical_diff(nopal_plan_info(plan)->canonical, "fixed_size\n"));
	nopal_plan_fuse(plan, NULL, nowhere, problems);
}

static char *text_of(const uint8_t *bytes, size_t length)
{
	char *text = malloc(length + 1);

	if (!text)
		abort();
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = text_of(bytes, length);
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	plan = nopal_plan_parse(text, "input.conf", NULL, &problems);
	if ((plan == NULL) != (problems.errors > 0))
		abort();
	if (plan)
		look_at(plan, &problems);
	nopal_problems_print(&problems, nowhere);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	free(text);
	return 0;
}
